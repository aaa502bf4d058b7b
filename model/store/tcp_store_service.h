#pragma once
// The server with the behaviour of PyTorch's libuv daemon (TCPStoreLibUvBackend.cpp), and towards
// clients of 1.13 with that of their daemon (TCPStore.cpp). One TcpStoreServed per client parses
// and answers; the TcpStoreService holds what they share: the contents of the store and which
// client waits for what. A barrier is a counter plus a wait for its key, as there.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "model/store/tcp_store.h"
#include "model/store/tcp_store_contents.h"
#include "model/store/tcp_store_requests.h"
#include "model/store/wire.h"

namespace hooke::model {

class TcpStoreServed;

/// The protected steps are those that can go wrong without an error: a test of the oracle replaces
/// them.
class TcpStoreService : public TcpStoreServer, public sim::AcceptHandler {
 public:
  /// StoreNetworkError when the port is taken.
  TcpStoreService(sim::Ports& ports, sim::PortNumber port, const std::string& purpose,
                  TcpStoreLimits limits);
  ~TcpStoreService() override;
  TcpStoreService(const TcpStoreService&) = delete;
  TcpStoreService& operator=(const TcpStoreService&) = delete;

  [[nodiscard]] sim::PortNumber port() const override { return listener_->local().port; }
  [[nodiscard]] std::size_t key_count() const override { return contents_.keys().size(); }
  [[nodiscard]] Holdings holdings() const override {
    return {connections_.size(), account_.held()};
  }
  [[nodiscard]] std::size_t active_clients(sim::Duration span) const override;
  void on_accept(std::unique_ptr<sim::Stream> stream) override;
  /// Destroys the connection; nothing of it may be used afterwards.
  void drop(std::uint64_t connection);

 protected:
  /// A key whose waiters a write wakes in place of those of its own key.
  [[nodiscard]] virtual std::optional<std::string> woken_instead() const { return std::nullopt; }
  /// Of a key that has appeared: whether this one of its waiters is woken.
  [[nodiscard]] virtual bool wakes(bool /*is_first*/) const { return true; }
  /// Whether a compare-and-set takes place over `present`.
  [[nodiscard]] virtual bool is_as_expected(const Value& present, const Value& expected) const {
    return present == expected;
  }
  [[nodiscard]] virtual std::int64_t answer_to_add(std::int64_t /*before*/,
                                                   std::int64_t sum) const {
    return sum;
  }
  /// How many of the items of a multi-set are written.
  [[nodiscard]] virtual std::size_t written_of(std::size_t items) const { return items; }

  sim::Ports& ports_;
  StoreAccount account_;
  StoreContents contents_{account_};
  StoreWaits waits_{account_};

 private:
  friend class TcpStoreServed;
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<TcpStoreServed>> connections_;
  std::uint64_t next_connection_ = 1;
  FamiliarRequests familiar_;
  /// When a connection that broke was last heard.
  std::optional<sim::MonotonicTime> latest_broken_;
};

/// One client's connection.
class TcpStoreServed final : public sim::StreamHandler {
 public:
  TcpStoreServed(TcpStoreService& server, std::uint64_t number,
                 std::unique_ptr<sim::Stream> stream);

  void on_data(sim::Buffer& received) override;
  void on_end() override { server_.drop(number_); }
  /// A client that has lost its connection comes again, unlike one that has closed it.
  void on_reset() override {
    server_.latest_broken_ = std::max(server_.latest_broken_.value_or(latest_), latest_);
    server_.drop(number_);
  }
  /// One of the keys this connection waits for has appeared; true if it was the last one missing.
  bool key_appeared();
  /// The registration for `key` has been used up.
  void registration_gone(const std::string& key) { registered_.erase(key); }
  /// Withdraws every registration.
  void forget_waits();
  [[nodiscard]] bool active_since(sim::MonotonicTime begin) const;

 private:
  /// Acts on the requests that have come whole; false when the connection must be closed.
  bool answer_all(sim::Buffer& received);
  /// Of replies that the client does not read. Not below the limit at which a stream is backed up:
  /// only then it says when that is over, and what is counted must not stay so for ever.
  [[nodiscard]] std::uint64_t unheard_bytes() const {
    return stream_->backed_up() ? stream_->unsent() : 0;
  }
  /// Acts on one request, whose values it may take; false when the protocol demands that the
  /// connection be closed.
  bool handle(Request& request);
  /// Acts on a request that brings no value to keep, or one that is appended.
  bool answer(const Request& request);
  bool get(const Request& request);
  bool append(const Request& request);
  bool compare_set(Request& request);
  bool add(const Request& request);
  bool wait(const Request& request);
  bool wait_for(const std::string& key);
  bool multi_get(const Request& request);
  bool multi_set(Request& request);
  bool barrier(const Request& request);
  bool queue_push(Request& request);
  void queue_pop(const Request& request);
  bool list_keys();
  void wake_waiters(const std::string& key);
  /// Writes and wakes; false when the store is full.
  bool store(const std::string& key, Value value);
  void wake_for_a_write(const std::string& key);
  void reply(Message& message) { static_cast<void>(stream_->write(message.take())); }
  bool reply_count(std::size_t count) {
    reply(Message().i64(static_cast<std::int64_t>(count)));
    return true;
  }

  TcpStoreService& server_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::optional<Variant> dialect_;  ///< known once enough has come to tell
  ListProgress list_progress_;
  sim::MonotonicTime latest_{};  ///< when something last came
  HeldBytes unfinished_;         ///< the beginning of a request, and replies that are not read
  std::size_t awaited_ = 0;      ///< keys of the latest WAIT that have not appeared yet
  /// Keys under which the server's waits_ know this connection.
  std::set<std::string, std::less<>> registered_;
};

}  // namespace hooke::model
