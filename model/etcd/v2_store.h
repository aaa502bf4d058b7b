#pragma once
// The store that PyTorch keeps in etcd's v2 tree (etcd_store.py:EtcdStore).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/store/store.h"

namespace hooke::model {

/// Keys lie under `prefix` ("/torch/elastic/store"), Base64 as key and as value. Every get and wait
/// lists the whole directory (S-L3). What EtcdStore does not offer, compare_set, append, delete_key
/// and num_keys, is an EscapedPythonError "RuntimeError"; a wait that times out is one of
/// "LookupError" (S-L16), a failure of etcd one of "EtcdException". One difference: a key whose
/// Base64 contains "/" is found again (S-L1).
class EtcdV2Store : public Store {
 public:
  EtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix);

  void set(const std::string& key, Value value) override;
  Value get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override;
  bool check(const std::vector<std::string>& keys) override;
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override;
  void append(const std::string& key, Value value) override;
  bool delete_key(const std::string& key) override;
  std::int64_t num_keys() override;
  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 protected:
  [[nodiscard]] std::string path_of(const std::string& key) const;
  EtcdV2Client& client() { return *client_; }
  /// The number in what stands under a key. EscapedPythonError "ValueError".
  static std::int64_t number_in(const std::string& encoded);
  void put(const std::string& key, const Value& value);
  bool has(const std::vector<std::string>& keys);
  /// What stands under these keys, once all are there.
  std::map<std::string, Value> await(const std::vector<std::string>& keys, sim::Duration timeout);
  /// Between two attempts of a count.
  void pause();

  sim::Ports& ports_;

 private:
  /// Everything in the store, by path; `index` is that of the listing.
  std::map<std::string, std::string> present(std::uint64_t& index);
  /// False: a caught signal has ended it, and would end the next one at once.
  bool watch(std::uint64_t index, sim::MonotonicTime deadline);
  std::int64_t count(const std::string& path, std::int64_t delta);

  std::shared_ptr<EtcdV2Client> client_;
  std::string prefix_;
  sim::Duration timeout_ = std::chrono::seconds(300);
};

/// A store under `prefix`.
std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix);

}  // namespace hooke::model
