// One function tells of any request; the class has a line for each.
#include "model/worker/traced_store.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "model/observe/worker_store_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

namespace ev = events;

constexpr std::size_t kShownBytes = 120;

std::string shown(const std::string& bytes) {
  const bool plain =
      std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (plain && bytes.size() <= kShownBytes) return bytes;
  return std::to_string(bytes.size()) + " bytes";
}

std::string shown(const Value& value) {
  return value.size() > kShownBytes ? std::to_string(value.size()) + " bytes"
                                    : shown(value.bytes());
}

std::string shown(const std::vector<Value>& values) {
  std::string out;
  for (const Value& value : values) out += (out.empty() ? "" : " | ") + shown(value);
  return out.size() > kShownBytes ? std::to_string(values.size()) + " values" : out;
}

std::string shown(std::int64_t number) {
  return std::to_string(number);
}

std::string shown(bool truth) {
  return truth ? "true" : "false";
}

std::string list_of(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "" : " ") + key;
  return out;
}

class TracedStore final : public Store {
 public:
  TracedStore(sim::Ports& ports, StoreUser user, std::shared_ptr<Store> store)
      : ports_(ports), user_(std::move(user)), store_(std::move(store)) {
    HOOKE_CHECK(user_.round && user_.newest_round && store_ != nullptr,
                "a traced store has a store, and a user with a round");
  }

  void set(const std::string& key, Value value) override {
    const std::string text = shown(value);
    told("set", key, text, [&] { store_->set(key, std::move(value)); });
  }
  Value get(const std::string& key) override {
    return told("get", key, "", [&] { return store_->get(key); });
  }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return told("add", key, shown(delta), [&] { return store_->add(key, delta); });
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return told("compare_set", key, shown(expected) + " -> " + shown(desired),
                [&] { return store_->compare_set(key, expected, desired); });
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    told("wait", list_of(keys), "", [&] { store_->wait(keys, timeout); });
  }
  bool check(const std::vector<std::string>& keys) override {
    return told("check", list_of(keys), "", [&] { return store_->check(keys); });
  }
  void append(const std::string& key, Value value) override {
    const std::string text = shown(value);
    told("append", key, text, [&] { store_->append(key, std::move(value)); });
  }
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    return told("multi_get", list_of(keys), "", [&] { return store_->multi_get(keys); });
  }
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override {
    std::vector<std::string> keys;
    std::vector<Value> values;
    for (const auto& [key, value] : items) {
      keys.push_back(key);
      values.push_back(value);
    }
    told("multi_set", list_of(keys), shown(values), [&] { store_->multi_set(items); });
  }
  bool delete_key(const std::string& key) override {
    return told("delete_key", key, "", [&] { return store_->delete_key(key); });
  }
  std::int64_t num_keys() override {
    return told("num_keys", "", "", [&] { return store_->num_keys(); });
  }

  [[nodiscard]] sim::Duration timeout() const override { return store_->timeout(); }
  void set_timeout(sim::Duration timeout) override { store_->set_timeout(timeout); }
  [[nodiscard]] std::uint64_t repeats() const override { return store_->repeats(); }

 private:
  template <class Call>
  std::invoke_result_t<Call> told(std::string_view operation, const std::string& key,
                                  const std::string& value, Call call) {
    HOOKE_CHECK(user_.rank >= 0, "ranks are numbered from 0");
    ports_.trace.emit(ev::worker_store_asked, {user_.run_id, user_.rank, user_.round(),
                                               user_.newest_round(), operation, key, value});
    const sim::MonotonicTime asked = ports_.clock.monotonic_now();
    const auto answered = [&](const std::string& result) {
      HOOKE_CHECK(ports_.clock.monotonic_now() >= asked, "an answer comes after its question");
      ports_.trace.emit(ev::worker_store_answered,
                        {user_.run_id, user_.rank, user_.round(), user_.newest_round(), operation,
                         key, result, ports_.clock.monotonic_now() - asked});
    };
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Call>>) {
        call();
        answered("ok");
      } else {
        auto out = call();
        answered(shown(out));
        return out;
      }
    } catch (const StoreTimeoutError&) {
      answered("timed out");
      throw;
    } catch (const StoreError& error) {
      answered(std::string("failed: ") + error.what());
      throw;
    }
  }

  sim::Ports& ports_;
  StoreUser user_;
  std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_traced_store(sim::Ports& ports, StoreUser user,
                                         std::shared_ptr<Store> store) {
  return std::make_shared<TracedStore>(ports, std::move(user), std::move(store));
}

}  // namespace hooke::model
