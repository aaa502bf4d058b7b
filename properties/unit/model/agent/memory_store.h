#pragma once
// A store in memory that several simulated processes share: waits are real waits of fibers, and
// every call is on record.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What the clients share.
struct MemoryStoreData {
  std::map<std::string, Value> values;
  std::vector<std::string> calls;  ///< "set key", "get key", "multi_get 3" …
  bool lost = false;               ///< every call fails, waiting ones too
  bool next_sum_is_lost = false;   ///< the next add counts, and no agent is told
  std::vector<std::pair<sim::Executor*, sim::ParkTicket>> waiting;

  void wake_all() {
    for (const auto& [executor, ticket] : std::exchange(waiting, {})) executor->wake(ticket);
  }
  void lose() {
    lost = true;
    wake_all();
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? "<none>" : found->second.bytes();
  }
};

/// One process' client.
class MemoryStore : public Store {
 public:
  MemoryStore(sim::Ports& ports, std::shared_ptr<MemoryStoreData> data)
      : ports_(ports), data_(std::move(data)) {}

  void set(const std::string& key, Value value) override {
    called("set " + key);
    data_->values[key] = std::move(value);
    data_->wake_all();
  }
  Value get(const std::string& key) override {
    called("get " + key);
    wait_for({key}, timeout_);
    return data_->values[key];
  }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    called("add " + key);
    Value& value = data_->values[key];
    const std::int64_t sum = (value.empty() ? 0 : std::stoll(value.bytes())) + delta;
    value = Value(std::to_string(sum));
    data_->wake_all();
    if (std::exchange(data_->next_sum_is_lost, false))
      throw StoreNetworkError("the reply is lost", true);
    return sum;
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    called("compare_set " + key);
    Value& value = data_->values[key];
    if (value == expected) value = desired;
    data_->wake_all();
    return value;
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    called("wait " + keys.front());
    wait_for(keys, timeout.value_or(timeout_));
  }
  bool check(const std::vector<std::string>& keys) override {
    called("check " + keys.front());
    return has(keys);
  }
  void append(const std::string& key, Value value) override {
    called("append " + key);
    data_->values[key] = Value(data_->values[key].bytes() + value.bytes());
    data_->wake_all();
  }
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    called("multi_get " + std::to_string(keys.size()));
    wait_for(keys, timeout_);
    std::vector<Value> values;
    for (const std::string& key : keys) values.push_back(data_->values[key]);
    return values;
  }
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override {
    called("multi_set " + std::to_string(items.size()));
    for (const auto& [key, value] : items) data_->values[key] = value;
    data_->wake_all();
  }
  bool delete_key(const std::string& key) override {
    called("delete " + key);
    return data_->values.erase(key) > 0;
  }
  std::int64_t num_keys() override { return static_cast<std::int64_t>(data_->values.size()); }
  [[nodiscard]] sim::Duration timeout() const override { return timeout_; }
  void set_timeout(sim::Duration timeout) override { timeout_ = timeout; }

 private:
  void called(std::string what) {
    check_reachable();
    data_->calls.push_back(std::move(what));
  }
  void check_reachable() const {
    if (data_->lost) throw StoreNetworkError("the store is lost");
  }
  [[nodiscard]] bool has(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys) {
      if (!data_->values.contains(key)) return false;
    }
    return true;
  }
  void wait_for(const std::vector<std::string>& keys, sim::Duration timeout) {
    const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
    while (!has(keys)) {
      const sim::ParkTicket ticket = ports_.executor.ticket();
      data_->waiting.emplace_back(&ports_.executor, ticket);
      const sim::Wake wake = ports_.executor.park(ticket, deadline);
      check_reachable();
      if (wake == sim::Wake::timed_out) throw StoreTimeoutError("waited for " + keys.front());
    }
  }

  sim::Ports& ports_;
  std::shared_ptr<MemoryStoreData> data_;
  sim::Duration timeout_ = std::chrono::seconds(300);
};

}  // namespace hooke::model
