// Each operation is one request, or a loop of fenced writes.
#include "model/etcd/v3_store.h"

#include <utility>

#include "model/store/decimal.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pause before a lost compare-and-swap is tried again: agents that lost together do not all come
/// back together.
constexpr sim::Duration kCasDelayMax = 20ms;

class EtcdV3Store final : public Store {
 public:
  EtcdV3Store(sim::Ports& ports, std::shared_ptr<EtcdV3Client> client, std::string prefix)
      : ports_(ports), client_(std::move(client)), prefix_(std::move(prefix)) {}

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
    return guarded([&] {
      std::int64_t sum = 0;
      change(key, [&](const EtcdV3Entry& present) {
        const auto number = present.exists() ? leading_number(present.value.bytes()) : 0;
        if (!number) throw StoreError("the value of \"" + key + "\" is no number");
        sum = wrapping_sum(*number, delta);
        return std::optional(Value(std::to_string(sum)));
      });
      return sum;
    });
  }

  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return guarded([&] {
      Value result;
      change(key, [&](const EtcdV3Entry& present) -> std::optional<Value> {
        const bool matches = present.exists() ? present.value == expected : expected.empty();
        result = matches ? desired : present.exists() ? present.value : expected;
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
        return std::optional(Value(present.value.bytes() + value.bytes()));
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

  /// Writes what `next` makes of the present value, until nobody has come in between; nothing when
  /// it makes nothing.
  template <class Next>
  void change(const std::string& key, Next next) {
    EtcdV3Entry present = client_->get(prefix_ + key).entry;
    for (;;) {
      const std::optional<Value> desired = next(present);
      if (!desired) return;
      EtcdV3Write write = client_->put_if(prefix_ + key, *desired, present.revision);
      if (write.written) return;
      present = std::move(write.present);
      ports_.executor.sleep_until(
          ports_.clock.monotonic_now() +
          ports_.random.between("etcd.cas_delay", sim::Duration::zero(), kCasDelayMax));
    }
  }

  Value await(const std::string& key, sim::MonotonicTime deadline) {
    for (;;) {
      EtcdV3Read read = client_->get(prefix_ + key);
      if (read.entry.exists()) return std::move(read.entry.value);
      if (ports_.clock.monotonic_now() >= deadline) {
        throw StoreTimeoutError("wait timeout, key: " + key);
      }
      static_cast<void>(client_->watch(prefix_ + key, read.revision + 1, deadline));
    }
  }

  sim::Ports& ports_;
  std::shared_ptr<EtcdV3Client> client_;
  std::string prefix_;
  sim::Duration timeout_ = 300s;
};

}  // namespace

std::shared_ptr<Store> make_etcd_v3_store(sim::Ports& ports, std::shared_ptr<EtcdV3Client> client,
                                          const std::string& prefix) {
  return std::make_shared<EtcdV3Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
