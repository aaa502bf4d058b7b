// Every operation as EtcdStore spells it in requests.
#include "model/etcd/v2_store.h"

#include <map>
#include <optional>
#include <utility>

#include "model/observe/python_error.h"
#include "model/store/base64.h"
#include "model/store/decimal.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pause before a lost compare-and-swap is tried again (etcd_rendezvous.py:cas_delay).
constexpr sim::Duration kCasDelayMax = 100ms;

class EtcdV2Store : public Store {
 public:
  EtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix)
      : ports_(ports), client_(std::move(client)), prefix_(std::move(prefix)) {
    if (!prefix_.ends_with('/')) prefix_ += '/';
  }

  void set(const std::string& key, Value value) override {
    guarded([&] {
      // Setting the same value again does no harm: an unknown outcome is made a known one.
      for (int attempt = 1;; ++attempt) {
        try {
          client_->put(path_of(key), {.value = base64_encode(value).bytes()});
          return;
        } catch (const EtcdConnectionError& error) {
          if (!error.outcome_unknown() || attempt == 2) throw;
        }
      }
    });
  }

  Value get(const std::string& key) override {
    return guarded([&] { return await({key}, timeout_).at(key); });
  }

  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return guarded([&] { return count(path_of(key), delta); });
  }

  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    guarded([&] { await(keys, timeout.value_or(timeout_)); });
  }

  bool check(const std::vector<std::string>& keys) override {
    return guarded([&] {
      std::uint64_t index = 0;
      const auto found = present(index);
      for (const std::string& key : keys) {
        if (!found.contains(path_of(key))) return false;
      }
      return true;
    });
  }

  Value compare_set(const std::string&, const Value&, const Value&) override {
    refuse("compareSet");
  }
  void append(const std::string&, Value) override { refuse("append"); }
  bool delete_key(const std::string&) override { refuse("deleteKey"); }
  std::int64_t num_keys() override { refuse("getNumKeys"); }
  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 protected:
  [[nodiscard]] std::string path_of(const std::string& key) const {
    return prefix_ + base64_encode(Value(key)).bytes();
  }
  EtcdV2Client& client() { return *client_; }

 private:
  [[noreturn]] static void refuse(const char* operation) {
    throw EscapedPythonError("RuntimeError",
                             std::string("the etcd store does not implement ") + operation);
  }
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

  /// Everything in the store, by path; `index` is that of the listing.
  std::map<std::string, std::string> present(std::uint64_t& index) {
    std::map<std::string, std::string> out;
    try {
      EtcdV2Answer answer = client_->list(prefix_.substr(0, prefix_.size() - 1));
      index = answer.index;
      for (EtcdV2Node& node : answer.below) {
        if (!node.is_directory) out.emplace(std::move(node.key), std::move(node.value));
      }
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kKeyNotFound) throw;
      index = 0;
    }
    return out;
  }

  std::map<std::string, Value> await(const std::vector<std::string>& keys, sim::Duration timeout) {
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
    for (;;) {
      std::uint64_t index = 0;
      const auto found = present(index);
      std::map<std::string, Value> out;
      std::string missing;
      for (const std::string& key : keys) {
        const auto entry = found.find(path_of(key));
        if (entry == found.end()) {
          missing += (missing.empty() ? "" : ", ") + key;
        } else {
          out[key] = base64_decode(Value(entry->second));
        }
      }
      if (missing.empty()) return out;
      if (ports_.clock.monotonic_now() >= deadline) {
        throw EscapedPythonError("LookupError", "no such key in time: " + missing);
      }
      watch(index, deadline);
    }
  }

  void watch(std::uint64_t index, sim::MonotonicTime deadline) {
    try {
      // An empty store was never listed: its index is unknown, and a look now and then has to do.
      const sim::MonotonicTime next_look = ports_.clock.monotonic_now() + 1s;
      client_->watch(prefix_.substr(0, prefix_.size() - 1),
                     index == 0 ? std::nullopt : std::optional(index + 1),
                     index == 0 ? std::min(deadline, next_look) : deadline);
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kIndexCleared) throw;
    }
  }

  std::int64_t count(const std::string& path, std::int64_t delta) {
    for (;;) {
      try {
        const std::string first = base64_encode(Value(std::to_string(delta))).bytes();
        client_->put(path, {.value = first, .previous_exists = false});
        return delta;
      } catch (const EtcdError& error) {
        if (error.code() != EtcdV2Client::kExists) throw;
      }
      try {
        const EtcdV2Node present = client_->get(path).node;
        const std::int64_t sum = wrapping_sum(number_in(present.value), delta);
        client_->put(path, {.value = base64_encode(Value(std::to_string(sum))).bytes(),
                            .previous_value = present.value});
        return sum;
      } catch (const EtcdError& error) {
        if (error.code() != EtcdV2Client::kCompareFailed &&
            error.code() != EtcdV2Client::kKeyNotFound) {
          throw;
        }
      }
      ports_.executor.sleep_until(
          ports_.clock.monotonic_now() +
          ports_.random.between("etcd.cas_delay", sim::Duration::zero(), kCasDelayMax));
    }
  }

  static std::int64_t number_in(const std::string& encoded) {
    const Value text = base64_decode(Value(encoded));
    const auto number = leading_number(text.bytes());
    if (!number) {
      throw EscapedPythonError("ValueError", "\"" + text.bytes() + "\" is no number to add to");
    }
    return *number;
  }

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;
  std::string prefix_;
  sim::Duration timeout_ = 300s;
};

class ComparingEtcdV2Store final : public EtcdV2Store {
 public:
  using EtcdV2Store::EtcdV2Store;

  bool check(const std::vector<std::string>& keys) override {
    return asked([&] { return EtcdV2Store::check(keys); });
  }
  Value get(const std::string& key) override {
    return asked([&] { return EtcdV2Store::get(key); });
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return asked([&] {
      for (;;) {
        const std::optional<std::string> present = stored(key);
        if (!present && !expected.empty()) return expected;
        if (present) {
          Value value = base64_decode(Value(*present));
          if (value != expected) return value;
        }
        if (replaced(key, present, desired)) return desired;
      }
    });
  }

 private:
  template <class Call>
  static auto asked(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const EtcdError& error) {
      throw StoreError(error.what());
    } catch (const EtcdConnectionError& error) {
      throw StoreNetworkError(error.what(), error.outcome_unknown());
    } catch (const Base64Error& error) {
      throw StoreError(error.what());
    } catch (const EscapedPythonError& error) {
      throw StoreError(error.what());
    }
  }

  std::optional<std::string> stored(const std::string& key) {
    try {
      return client().get(path_of(key)).node.value;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kKeyNotFound) throw;
      return std::nullopt;
    }
  }

  /// False when somebody was faster.
  bool replaced(const std::string& key, const std::optional<std::string>& present,
                const Value& desired) {
    EtcdV2Write write{.value = base64_encode(desired).bytes()};
    if (present) {
      write.previous_value = *present;
    } else {
      write.previous_exists = false;
    }
    try {
      client().put(path_of(key), write);
      return true;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kExists && error.code() != EtcdV2Client::kCompareFailed &&
          error.code() != EtcdV2Client::kKeyNotFound) {
        throw;
      }
      return false;
    }
  }
};

}  // namespace

std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix) {
  return std::make_shared<EtcdV2Store>(ports, std::move(client), prefix);
}

std::shared_ptr<Store> make_comparing_etcd_v2_store(sim::Ports& ports,
                                                    std::shared_ptr<EtcdV2Client> client,
                                                    const std::string& prefix) {
  return std::make_shared<ComparingEtcdV2Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
