// Slices of a wait, and attempts at a call.
#include "model/store/retrying_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/observe/python_error.h"
#include "model/store/short_timeout.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kSlice = std::chrono::seconds(1);

class RetryingStore final : public Store {
 public:
  RetryingStore(sim::Ports& ports, std::shared_ptr<Store> store, sim::Duration outage,
                std::function<void()> between, std::function<void()> in_vain)
      : ports_(ports),
        store_(std::move(store)),
        outage_(outage),
        between_(std::move(between)),
        in_vain_(std::move(in_vain)),
        timeout_(store_->timeout()) {
    HOOKE_CHECK(between_ != nullptr, "something is done between two attempts");
  }

  void set(const std::string& key, Value value) override {
    persistently([&] { store_->set(key, value); });
  }
  Value get(const std::string& key) override {
    return when_there({key}, [&] { return store_->get(key); });
  }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return persistently([&] { return store_->add(key, delta); }, Again::if_not_done);
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return persistently([&] { return store_->compare_set(key, expected, desired); });
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override;
  bool check(const std::vector<std::string>& keys) override {
    return persistently([&] { return store_->check(keys); });
  }
  void append(const std::string& key, Value value) override {
    persistently([&] { store_->append(key, value); }, Again::if_not_done);
  }
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    return when_there(keys, [&] { return store_->multi_get(keys); });
  }
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override {
    persistently([&] { store_->multi_set(items); });
  }
  bool delete_key(const std::string& key) override {
    return persistently([&] { return store_->delete_key(key); }, Again::if_not_done);
  }
  std::int64_t num_keys() override {
    return persistently([&] { return store_->num_keys(); });
  }
  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 private:
  enum class Again : unsigned char { always, if_not_done };

  template <class Call>
  auto persistently(Call call, Again again = Again::always) -> decltype(call());
  /// Waits for `keys`, then reads them by `call`. A store that comes up empty in between makes the
  /// read a wait, and a deaf one: this begins anew then, as long as it may take altogether.
  template <class Call>
  auto when_there(const std::vector<std::string>& keys, Call call) -> decltype(call());
  /// False when the slice is over and a key still missing.
  bool wait_slice(const std::vector<std::string>& keys, sim::Duration slice);

  sim::Ports& ports_;
  std::shared_ptr<Store> store_;
  sim::Duration outage_;
  std::function<void()> between_, in_vain_;
  sim::Duration timeout_;
};

template <class Call>
auto RetryingStore::persistently(Call call, Again again) -> decltype(call()) {
  HOOKE_CHECK(outage_ >= sim::Duration::zero(), "an outage that is endured has a length");
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  const sim::MonotonicTime last = begin + std::max(timeout_, sim::Duration::zero());
  std::optional<sim::MonotonicTime> give_up;
  for (;;) {
    try {
      return call();
    } catch (const StoreNetworkError& error) {
      if (again == Again::if_not_done && error.outcome_unknown()) throw;
      const sim::MonotonicTime now = ports_.clock.monotonic_now();
      // The outage may have begun when a slice of a wait was all but over.
      if (!give_up) give_up = std::min(std::min(now, begin + kSlice) + outage_, last);
      HOOKE_CHECK(now >= begin, "time does not go back");
      if (now >= *give_up) throw;
    }
    HOOKE_CHECK(give_up.has_value(), "an attempt that is repeated has a last moment");
    between_();
    ports_.executor.sleep_until(std::min(ports_.clock.monotonic_now() + kSlice, *give_up));
    between_();
  }
}

template <class Call>
auto RetryingStore::when_there(const std::vector<std::string>& keys, Call call)
    -> decltype(call()) {
  const sim::MonotonicTime end = ports_.clock.monotonic_now() + timeout_;
  for (;;) {
    wait(keys, std::max<sim::Duration>(end - ports_.clock.monotonic_now(), sim::Duration::zero()));
    try {
      return persistently([&] {
        const ShortTimeout short_timeout(*store_, std::chrono::seconds(1));
        return call();
      });
    } catch (const StoreTimeoutError&) {
      if (ports_.clock.monotonic_now() >= end) throw;
    }
  }
}

bool RetryingStore::wait_slice(const std::vector<std::string>& keys, sim::Duration slice) {
  try {
    persistently([&] { store_->wait(keys, slice); });
    return true;
  } catch (const StoreTimeoutError&) {
    return false;
  } catch (const EscapedPythonError& error) {
    if (std::string_view(error.class_name()) != "LookupError") throw;
    return false;
  }
}

void RetryingStore::wait(const std::vector<std::string>& keys,
                         std::optional<sim::Duration> timeout) {
  const sim::Duration whole = timeout.value_or(timeout_);
  const sim::MonotonicTime end = ports_.clock.monotonic_now() + whole;
  for (sim::Duration left = whole;; left = end - ports_.clock.monotonic_now()) {
    if (wait_slice(keys, std::clamp(left, sim::Duration::zero(), kSlice))) return;
    HOOKE_CHECK(left <= whole, "no more time is left than there was");
    if (left <= kSlice) break;
    between_();
    if (in_vain_) in_vain_();
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(whole).count();
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
  throw StoreTimeoutError("wait timeout after " + std::to_string(ms) + "ms, keys: " + names);
}

}  // namespace

std::shared_ptr<Store> make_retrying_store(sim::Ports& ports, std::shared_ptr<Store> store,
                                           sim::Duration outage, std::function<void()> between,
                                           std::function<void()> in_vain) {
  return std::make_shared<RetryingStore>(ports, std::move(store), outage, std::move(between),
                                         std::move(in_vain));
}

}  // namespace hooke::model
