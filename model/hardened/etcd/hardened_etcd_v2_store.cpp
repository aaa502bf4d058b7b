// Every operation, made of requests that may be sent again.
#include "model/hardened/etcd/hardened_etcd_v2_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/etcd/signature.h"
#include "model/etcd/v2_store.h"
#include "model/store/decimal.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// How often a write is tried whose outcome is unknown.
constexpr int kAttempts = 2;

class HardenedEtcdV2Store final : public EtcdV2Store {
 public:
  HardenedEtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix)
      : EtcdV2Store(ports, std::move(client), std::move(prefix)) {}

  void set(const std::string& key, Value value) override {
    asked([&] {
      // Setting the same value again does no harm: an unknown outcome is made a known one, where
      // there is the time for it.
      const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout();
      for (int attempt = 1; attempt <= kAttempts; ++attempt) {
        try {
          return put(key, value);
        } catch (const EtcdConnectionError& error) {
          if (!error.outcome_unknown() || ports_.clock.monotonic_now() >= deadline) throw;
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
    asked([&] { await_all(keys, timeout.value_or(this->timeout())); });
  }
  bool check(const std::vector<std::string>& keys) override {
    return asked([&] { return has(keys); });
  }
  Value get(const std::string& key) override {
    return asked([&] {
      const Found found = await_all({key}, timeout());
      return without_signature(base64_decode(Value(found.at(path_of(key)))));
    });
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
      throw StoreError(error.what());
    }
  }

  /// Everything in the store, by path; `index` is that of the listing, 0 where there is none.
  Found everything(std::uint64_t& index) {
    Found out;
    try {
      const EtcdV2Answer answer = client_->list(directory());
      index = answer.index;
      for (const EtcdV2Node& node : answer.below()) {
        if (!node.is_directory) out.emplace(node.key, node.value);
      }
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kKeyNotFound) throw;
      index = 0;
    }
    return out;
  }

  bool has(const std::vector<std::string>& keys) {
    std::uint64_t index = 0;
    const Found found = everything(index);
    return std::all_of(keys.begin(), keys.end(),
                       [&](const std::string& key) { return found.contains(path_of(key)); });
  }

  /// All of the store, once these keys are in it.
  Found await_all(const std::vector<std::string>& keys, sim::Duration timeout) {
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
    for (bool last = false;;) {
      std::uint64_t index = 0;
      Found found = everything(index);
      std::string missing;
      for (const std::string& key : keys) {
        if (!found.contains(path_of(key))) missing += (missing.empty() ? "" : ", ") + key;
      }
      if (missing.empty()) return found;
      if (last || ports_.clock.monotonic_now() >= deadline) {
        throw StoreTimeoutError("no such key in time: " + missing);
      }
      last = !watched(index, deadline);
    }
  }

  /// False: a caught signal has ended it, and would end the next one at once.
  bool watched(std::uint64_t index, sim::MonotonicTime deadline) {
    // An empty store was never listed: its index is unknown, and a look now and then has to do.
    if (index == 0) deadline = std::min(deadline, ports_.clock.monotonic_now() + 1s);
    try {
      const auto change = client_->watch(
          directory(), index == 0 ? std::nullopt : std::optional(index + 1), deadline);
      return change || ports_.clock.monotonic_now() >= deadline;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kIndexCleared) throw;
      // The next listing has a newer index, but for that of a member that lags behind.
      return !ports_.processes.wait_signal(ports_.clock.monotonic_now() + 200ms);
    }
  }

  /// A client that counts signs what it writes, and looks for its signature in all that was written
  /// since a reply was lost. A count whose outcome is unknown is gone on with when it is asked for
  /// again, unless it can never be known: then that is what the caller is told.
  std::int64_t signed_sum(const std::string& path, std::int64_t delta) {
    HOOKE_CHECK(!path.empty() && path.front() == '/', "a key begins with a slash");
    Count& count = unsettled_.try_emplace(path, Count{draw_signature(ports_), {}}).first->second;
    HOOKE_CHECK(!count.signature.empty(), "the signature of a count is not empty");
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
      } catch (const EtcdForgottenError&) {
        unsettled_.erase(path);
        throw;
      } catch (const EtcdConnectionError& error) {
        if (attempt++ == kAttempts) throw EtcdConnectionError(error.what(), false);
        HOOKE_CHECK(attempt <= kAttempts, "a count is tried at most kAttempts times");
      }
    }
  }

  /// nullopt when another write was faster.
  std::optional<std::int64_t> raised(const std::string& path,
                                     const std::optional<EtcdV2Node>& present, std::int64_t delta,
                                     Count& count) {
    const std::int64_t sum = present ? wrapping_sum(number_in(present->value), delta) : delta;
    const std::string text = base64_encode(Value(std::to_string(sum) + count.signature)).bytes();
    HOOKE_CHECK(number_in(text) == sum, "the written text is read back as the same count");
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
    HOOKE_CHECK(!own.empty(), "the signature of a count is not empty");
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
      const auto answer = client_->watch(path, index + 1, ports_.clock.monotonic_now() + 1s);
      if (answer) return answer->node;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kIndexCleared) throw;
      throw EtcdForgottenError("etcd has forgotten the writer of " + path);
    }
    throw EtcdConnectionError("etcd does not name the writer of " + path, true);
  }

  std::optional<EtcdV2Node> stored(const std::string& path) {
    try {
      return client_->get(path).node;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kKeyNotFound) throw;
      return std::nullopt;
    }
  }

  /// False when another write was faster.
  bool replaced(const std::string& path, const std::optional<EtcdV2Node>& present,
                const std::string& text) {
    EtcdV2Write write{.value = text};
    if (present) {
      write.previous_index = present->modified_index;
    } else {
      write.previous_exists = false;
    }
    try {
      client_->put(path, write);
      return true;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kExists && error.code() != EtcdV2Client::kCompareFailed &&
          error.code() != EtcdV2Client::kKeyNotFound) {
        throw;
      }
      return false;
    }
  }

  std::map<std::string, Count> unsettled_;  ///< by path
};

}  // namespace

std::shared_ptr<Store> make_hardened_etcd_v2_store(sim::Ports& ports,
                                                   std::shared_ptr<EtcdV2Client> client,
                                                   const std::string& prefix) {
  return std::make_shared<HardenedEtcdV2Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
