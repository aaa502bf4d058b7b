#pragma once
// The store that PyTorch keeps in etcd's v2 tree (etcd_store.py:EtcdStore).

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/observe/python_error.h"
#include "model/store/base64.h"
#include "model/store/store.h"

namespace hooke::model {

/// Keys lie under a prefix ("/torch/elastic/store"), Base64 as key and as value. Every get and wait
/// lists the whole directory (S-L3), and a key whose Base64 has a "/" in it lies below where that
/// looks (S-L1). What EtcdStore does not offer, compare_set, append, delete_key and num_keys, is an
/// EscapedPythonError "RuntimeError"; a wait that times out is one of "LookupError" (S-L16), a
/// failure of etcd one of "EtcdException". A wait reads the wall clock, so that setting it ends or
/// prolongs the wait (S-L13); one for the same key twice never ends well.
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
  /// What stands in the store, by path.
  using Found = std::map<std::string, std::string>;

  [[nodiscard]] std::string path_of(const std::string& key) const;
  /// Above all keys.
  [[nodiscard]] std::string directory() const { return prefix_.substr(0, prefix_.size() - 1); }
  void put(const std::string& key, const Value& value);
  /// Between two attempts of a count.
  void pause();
  /// Python's int() of what stands there. EscapedPythonError.
  static std::int64_t number_in(const std::string& encoded);

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;

 private:
  template <class Call>
  static auto guarded(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const EtcdError& error) {
      throw EscapedPythonError("EtcdException", error.what());
    } catch (const EtcdConnectionError& error) {
      throw EscapedPythonError("EtcdException", error.what());
    } catch (const Base64Error& error) {
      throw EscapedPythonError("binascii.Error", error.what());
    }
  }

  /// Those of these keys that are there. `index`: of the whole store; nullopt: no key was ever
  /// there.
  Found present(const std::vector<std::string>& keys, std::optional<std::uint64_t>& index);
  Found await(const std::vector<std::string>& keys, sim::Duration timeout);
  /// False: the time is over.
  bool watch(std::optional<std::uint64_t> index, sim::Duration timeout);
  std::int64_t count(const std::string& path, std::int64_t delta);

  std::string prefix_;
  sim::Duration timeout_ = std::chrono::seconds(300);
};

/// A store under `prefix`, which should begin with "/" (S-L14).
std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix);

}  // namespace hooke::model
