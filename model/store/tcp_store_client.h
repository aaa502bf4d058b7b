#pragma once
// The operations of PyTorch's TCPStore as a client has them
// (torch/csrc/distributed/c10d/TCPStore.cpp: TCPStore). The protected steps are where a mend does
// otherwise.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/store/store.h"
#include "model/store/tcp_store_connection.h"
#include "model/store/wire.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// Serialises its calls with a mutex that is held for the whole of a wait (rendezvous R-39).
/// Replies other than a WAIT's are waited for without limit (S-23), unless there is a
/// `reply_limit`, which breaks the connection. A connection that has broken stays so: every later
/// call throws StoreNetworkError. In 1.13's format a wait that times out stays registered and
/// spoils the answer to a later call (S-1), lists of keys are got and set one by one, and append is
/// a StoreError. 1.13's second connection, for watches, is not opened.
class TcpStoreClient : public Store {
 public:
  /// On a connection that has been opened.
  TcpStoreClient(sim::Ports& ports, std::unique_ptr<TcpStoreConnection> connection);
  /// Adds to the counter of clients, whose key has no slash before it.
  std::int64_t count_in(std::int64_t clients);

  void set(const std::string& key, Value value) override;
  Value get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override;
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override;
  bool check(const std::vector<std::string>& keys) override;
  void append(const std::string& key, Value value) override;
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override;
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override;
  bool delete_key(const std::string& key) override;
  std::int64_t num_keys() override;
  [[nodiscard]] sim::Duration timeout() const override { return connection_->timeout(); }
  void set_timeout(sim::Duration timeout) override { connection_->set_timeout(timeout); }

 protected:
  /// Does what may be done twice; PyTorch does it once.
  virtual void persistently(const std::function<void()>& call) { call(); }
  /// After a set, which is answered by nothing: PyTorch does not learn what has become of it (S-2).
  virtual void confirm(const std::string& /*key*/) {}
  /// How long the next WAIT lasts of which `left` is to go.
  [[nodiscard]] virtual sim::Duration wait_slice(sim::Duration left) const { return left; }
  /// Until when the answer to a WAIT of that time is waited for.
  [[nodiscard]] virtual std::optional<sim::MonotonicTime> wait_end(sim::Duration timeout) const {
    return ports_.clock.monotonic_now() + timeout;
  }
  /// A wait may be satisfied while it is being cancelled. To PyTorch it has timed out all the same,
  /// so that a client that waits in slices that are shorter than a slow store's answer waits for
  /// ever.
  [[nodiscard]] virtual bool takes_late_answer() const { return false; }
  [[nodiscard]] Message key_list(Query query, const std::vector<std::string>& keys) const;

  sim::Ports& ports_;
  std::unique_ptr<TcpStoreConnection> connection_;

 private:
  void wait_locked(const std::vector<std::string>& keys, sim::Duration timeout);
  /// False: the time was over.
  bool wait_once(const std::vector<std::string>& keys, sim::Duration timeout);

  sim::Mutex mutex_;  ///< held for the whole of a call, waits included (rendezvous R-39)
};

}  // namespace hooke::model
