// Each operation is one request, or a loop of fenced writes.
#include "model/etcd/v3_store.h"

#include <map>
#include <optional>
#include <utility>

#include "model/etcd/signature.h"
#include "model/store/decimal.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pause before a lost compare-and-swap is tried again: agents that lost together do not all come
/// back together.
constexpr sim::Duration kCasDelayMax = 20ms;
/// How often a count is tried whose outcome is unknown.
constexpr int kCountAttempts = 2;

class EtcdV3Store final : public Store {
 public:
  EtcdV3Store(sim::Ports& ports, std::shared_ptr<EtcdV3Client> client, std::string prefix)
      : ports_(ports), client_(std::move(client)), prefix_(std::move(prefix)) {
    HOOKE_CHECK(client_ != nullptr, "a store in etcd has a client");
  }

  void set(const std::string& key, Value value) override {
    guarded([&] { client_->put(prefix_ + key, value); });
  }

  Value get(const std::string& key) override {
    return guarded([&] {
      const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout_;
      return await(key, deadline);
    });
  }

  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return guarded([&] { return signed_sum(key, delta); });
  }

  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return guarded([&] {
      Value result;
      change(key, [&](const EtcdV3Entry& present) -> std::optional<Value> {
        const Value there = without_signature(present.value);
        const bool matches = present.exists() ? there == expected : expected.empty();
        result = matches ? desired : present.exists() ? there : expected;
        return matches ? std::optional(desired) : std::nullopt;
      });
      return result;
    });
  }

  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    guarded([&] {
      const auto deadline = ports_.clock.monotonic_now() + timeout.value_or(timeout_);
      for (const std::string& key : keys) static_cast<void>(await(key, deadline));
    });
  }

  bool check(const std::vector<std::string>& keys) override {
    return guarded([&] {
      for (const std::string& key : keys) {
        if (!client_->get(prefix_ + key).entry.exists()) return false;
      }
      return true;
    });
  }

  void append(const std::string& key, Value value) override {
    guarded([&] {
      change(key, [&](const EtcdV3Entry& present) {
        return std::optional(Value(without_signature(present.value).bytes() + value.bytes()));
      });
    });
  }

  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    return guarded([&] {
      const auto deadline = ports_.clock.monotonic_now() + timeout_;
      std::vector<Value> out;
      for (const std::string& key : keys) out.push_back(await(key, deadline));
      return out;
    });
  }

  bool delete_key(const std::string& key) override {
    return guarded([&] { return client_->remove(prefix_ + key); });
  }

  std::int64_t num_keys() override {
    return guarded([&] { return static_cast<std::int64_t>(client_->list(prefix_).size()); });
  }

  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 private:
  struct Count {
    std::string signature;
    std::optional<std::int64_t> fence;  ///< revision before the first write of unknown outcome
  };

  static std::int64_t number_in(const std::string& key, const EtcdV3Entry& entry) {
    const auto number = entry.exists() ? leading_number(entry.value.bytes()) : 0;
    if (!number) throw StoreError("the value of \"" + key + "\" is no number");
    return *number;
  }

  /// A client that counts signs what it writes, and looks for its signature in all that was written
  /// since a reply was lost. A count whose outcome is unknown is gone on with when it is asked for
  /// again, unless it can never be known: then that is what the caller is told.
  std::int64_t signed_sum(const std::string& key, std::int64_t delta) {
    Count& count = unsettled_.try_emplace(key, Count{draw_signature(ports_), {}}).first->second;
    std::optional<EtcdV3Entry>
        present;  // what a write has met is never stale: it is not read again
    for (int attempt = 1;; pause()) {
      try {
        if (!present) present = client_->get(prefix_ + key).entry;
        std::optional<std::int64_t> sum;
        if (count.fence) sum = sum_signed(key, count, *present);
        if (!sum) sum = raised(key, *present, delta, count);
        if (!sum) continue;
        unsettled_.erase(key);
        return *sum;
      } catch (const EtcdForgottenError&) {
        unsettled_.erase(key);
        throw;
      } catch (const EtcdConnectionError& error) {
        present.reset();
        if (attempt++ == kCountAttempts) throw EtcdConnectionError(error.what(), false);
      }
    }
  }

  std::optional<std::int64_t> sum_signed(const std::string& key, const Count& count,
                                         const EtcdV3Entry& present) {
    HOOKE_CHECK(count.fence.has_value(), "a signature is looked for when a reply was lost");
    const auto mine = client_->since(prefix_ + key, *count.fence, present, [&](const Value& value) {
      return value.bytes().ends_with(count.signature);
    });
    return mine ? std::optional(number_in(key, *mine)) : std::nullopt;
  }

  /// nullopt when another write was faster: `present` is what stands there instead.
  std::optional<std::int64_t> raised(const std::string& key, EtcdV3Entry& present,
                                     std::int64_t delta, Count& count) {
    const std::int64_t sum = wrapping_sum(number_in(key, present), delta);
    HOOKE_CHECK(!count.signature.empty(), "a client that counts signs what it writes");
    const Value text(std::to_string(sum) + count.signature);
    HOOKE_CHECK(leading_number(text.bytes()) == sum, "the others read what is written");
    try {
      EtcdV3Write write = client_->put_if(prefix_ + key, text, present.revision);
      if (write.written) return sum;
      if (write.in_doubt && !count.fence) count.fence = present.revision;
      present = std::move(write.present);
      return std::nullopt;
    } catch (const EtcdConnectionError& error) {
      if (error.outcome_unknown() && !count.fence) count.fence = present.revision;
      throw;
    }
  }

  void pause() {
    ports_.executor.sleep_until(
        ports_.clock.monotonic_now() +
        ports_.random.between("etcd.cas_delay", sim::Duration::zero(), kCasDelayMax));
  }

  template <class Call>
  static auto guarded(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const EtcdError& error) {
      throw StoreError(error.what());
    } catch (const EtcdConnectionError& error) {
      throw StoreNetworkError(error.what(), error.outcome_unknown());
    }
  }

  /// Writes what `next` makes of the present value, until no client has come in between; nothing
  /// when it makes nothing.
  template <class Next>
  void change(const std::string& key, Next next) {
    EtcdV3Entry present = client_->get(prefix_ + key).entry;
    for (;;) {
      const std::optional<Value> desired = next(present);
      if (!desired) return;
      EtcdV3Write write = client_->put_if(prefix_ + key, *desired, present.revision);
      if (write.written) return;
      present = std::move(write.present);
      pause();
    }
  }

  /// A watch that a caught signal ends is the last one: with the signal pending, the next would end
  /// at once.
  Value await(const std::string& key, sim::MonotonicTime deadline) {
    for (bool last = false;;) {
      EtcdV3Read read = client_->get(prefix_ + key);
      if (read.entry.exists()) return without_signature(read.entry.value);
      if (last || ports_.clock.monotonic_now() >= deadline) {
        throw StoreTimeoutError("wait timeout, key: " + key);
      }
      last = !client_->watch(prefix_ + key, read.revision + 1, deadline);
    }
  }

  sim::Ports& ports_;
  std::shared_ptr<EtcdV3Client> client_;
  std::string prefix_;
  sim::Duration timeout_ = 300s;
  std::map<std::string, Count> unsettled_;  ///< by key
};

}  // namespace

std::shared_ptr<Store> make_etcd_v3_store(sim::Ports& ports, std::shared_ptr<EtcdV3Client> client,
                                          const std::string& prefix) {
  return std::make_shared<EtcdV3Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
