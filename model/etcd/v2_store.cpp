// Every operation as EtcdStore spells it in requests.
#include "model/etcd/v2_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "model/etcd/signature.h"
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
    guarded([&] { put(key, value); });
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
    return guarded([&] { return has(keys); });
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
  static std::int64_t number_in(const std::string& encoded);
  void put(const std::string& key, const Value& value) {
    client_->put(path_of(key), {.value = base64_encode(value).bytes()});
  }

  bool has(const std::vector<std::string>& keys) {
    std::uint64_t index = 0;
    const auto found = present(index);
    return std::all_of(keys.begin(), keys.end(),
                       [&](const std::string& key) { return found.contains(path_of(key)); });
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
    for (bool last = false;;) {
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
      if (last || ports_.clock.monotonic_now() >= deadline) {
        throw EscapedPythonError("LookupError", "no such key in time: " + missing);
      }
      last = !watch(index, deadline);
    }
  }

  /// False: a caught signal has ended it, and would end the next one at once.
  bool watch(std::uint64_t index, sim::MonotonicTime deadline) {
    // An empty store was never listed: its index is unknown, and a look now and then has to do.
    if (index == 0) deadline = std::min(deadline, ports_.clock.monotonic_now() + 1s);
    try {
      const auto change =
          client_->watch(prefix_.substr(0, prefix_.size() - 1),
                         index == 0 ? std::nullopt : std::optional(index + 1), deadline);
      return change || ports_.clock.monotonic_now() >= deadline;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kIndexCleared) throw;
      return true;
    }
  }

  /// Between two attempts of a count.
  void pause() {
    ports_.executor.sleep_until(
        ports_.clock.monotonic_now() +
        ports_.random.between("etcd.cas_delay", sim::Duration::zero(), kCasDelayMax));
  }

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
      pause();
    }
  }

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;
  std::string prefix_;
  sim::Duration timeout_ = 300s;
};

std::int64_t EtcdV2Store::number_in(const std::string& encoded) {
  const Value text = base64_decode(Value(encoded));
  const auto number = leading_number(text.bytes());
  if (!number) {
    throw EscapedPythonError("ValueError", "\"" + text.bytes() + "\" is no number to add to");
  }
  return *number;
}

/// How often a write is tried whose outcome is unknown.
constexpr int kAttempts = 2;

class HardenedEtcdV2Store final : public EtcdV2Store {
 public:
  HardenedEtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix)
      : EtcdV2Store(ports, std::move(client), std::move(prefix)), ports_(ports) {}

  void set(const std::string& key, Value value) override {
    asked([&] {
      // Setting the same value again does no harm: an unknown outcome is made a known one.
      for (int attempt = 1; attempt <= kAttempts; ++attempt) {
        try {
          return put(key, value);
        } catch (const EtcdConnectionError& error) {
          if (!error.outcome_unknown()) throw;
        }
      }
      // An etcd that leaves all open carries out some.
      const std::optional<EtcdV2Node> present = stored(path_of(key));
      if (!present || present->value != base64_encode(value).bytes()) {
        throw EtcdConnectionError("etcd does not say whether " + key + " is written", true);
      }
    });
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    asked([&] { await(keys, timeout.value_or(this->timeout())); });
  }
  bool check(const std::vector<std::string>& keys) override {
    return asked([&] { return has(keys); });
  }
  Value get(const std::string& key) override {
    return asked([&] { return without_signature(await({key}, timeout()).at(key)); });
  }

  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return asked([&] { return signed_sum(path_of(key), delta); });
  }

  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return asked([&] {
      for (int attempt = 1;; ++attempt) {
        const std::optional<EtcdV2Node> present = stored(path_of(key));
        if (!present && !expected.empty()) return expected;
        if (present) {
          Value value = without_signature(base64_decode(Value(present->value)));
          if (value != expected) return value;
        }
        try {
          if (replaced(path_of(key), present, base64_encode(desired).bytes())) return desired;
        } catch (const EtcdConnectionError& error) {
          // What stands there next tells it, unless another has written the very same.
          if (!error.outcome_unknown() || attempt >= kAttempts) throw;
        }
      }
    });
  }

 private:
  struct Count {
    std::string signature;
    std::optional<std::uint64_t> fence;  ///< index before the first write of unknown outcome
  };

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
      if (std::string_view(error.class_name()) == "LookupError") {
        throw StoreTimeoutError(error.what());
      }
      throw StoreError(error.what());
    }
  }

  /// Each who counts signs what it writes, and looks for its signature in all that was written
  /// since a reply was lost. A count whose outcome is unknown is gone on with when it is asked for
  /// again.
  std::int64_t signed_sum(const std::string& path, std::int64_t delta) {
    Count& count = unsettled_.try_emplace(path, Count{draw_signature(ports_), {}}).first->second;
    for (int attempt = 1;; pause()) {
      try {
        // It is read first, which may be done again on a connection that has broken meanwhile.
        const std::optional<EtcdV2Node> present = stored(path);
        std::optional<std::int64_t> sum;
        if (count.fence) sum = sum_signed(path, *count.fence, present, count.signature);
        if (!sum) sum = raised(path, present, delta, count);
        if (!sum) continue;
        unsettled_.erase(path);
        return *sum;
      } catch (const EtcdConnectionError& error) {
        if (attempt++ == kAttempts) throw EtcdConnectionError(error.what(), false);
      }
    }
  }

  /// nullopt when somebody was faster.
  std::optional<std::int64_t> raised(const std::string& path,
                                     const std::optional<EtcdV2Node>& present, std::int64_t delta,
                                     Count& count) {
    const std::int64_t sum = present ? wrapping_sum(number_in(present->value), delta) : delta;
    const std::string text = base64_encode(Value(std::to_string(sum) + count.signature)).bytes();
    try {
      return replaced(path, present, text) ? std::optional(sum) : std::nullopt;
    } catch (const EtcdConnectionError& error) {
      if (error.outcome_unknown() && !count.fence)
        count.fence = present ? present->modified_index : 0;
      throw;
    }
  }

  /// What was written at `path` after `fence` with this signature.
  std::optional<std::int64_t> sum_signed(const std::string& path, std::uint64_t fence,
                                         const std::optional<EtcdV2Node>& present,
                                         const std::string& own) {
    if (!present || present->modified_index == fence) return std::nullopt;
    EtcdV2Node node = *present;
    // A key that was not there has no change that the watch could begin after.
    std::uint64_t index = fence == 0 ? present->created_index - 1 : fence;
    for (;;) {
      if (base64_decode(Value(node.value)).bytes().ends_with(own)) return number_in(node.value);
      if (index >= present->modified_index) return std::nullopt;
      node = change_after(path, index);
      index = node.modified_index;
    }
  }

  /// There has been one.
  EtcdV2Node change_after(const std::string& path, std::uint64_t index) {
    try {
      const auto answer = client().watch(path, index + 1, ports_.clock.monotonic_now() + 1s);
      if (answer) return answer->node;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kIndexCleared) throw;
    }
    throw EtcdConnectionError("etcd does not say who wrote " + path, true);
  }

  std::optional<EtcdV2Node> stored(const std::string& path) {
    try {
      return client().get(path).node;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kKeyNotFound) throw;
      return std::nullopt;
    }
  }

  /// False when somebody was faster.
  bool replaced(const std::string& path, const std::optional<EtcdV2Node>& present,
                const std::string& text) {
    EtcdV2Write write{.value = text};
    if (present) {
      write.previous_index = present->modified_index;
    } else {
      write.previous_exists = false;
    }
    try {
      client().put(path, write);
      return true;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kExists && error.code() != EtcdV2Client::kCompareFailed &&
          error.code() != EtcdV2Client::kKeyNotFound) {
        throw;
      }
      return false;
    }
  }

  sim::Ports& ports_;
  std::map<std::string, Count> unsettled_;  ///< by path
};

}  // namespace

std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix) {
  return std::make_shared<EtcdV2Store>(ports, std::move(client), prefix);
}

std::shared_ptr<Store> make_hardened_etcd_v2_store(sim::Ports& ports,
                                                   std::shared_ptr<EtcdV2Client> client,
                                                   const std::string& prefix) {
  return std::make_shared<HardenedEtcdV2Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
