// Every call: forward, then one interpreter step.
#include "model/store/stepping_store.h"

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class SteppingStore final : public Store {
 public:
  SteppingStore(sim::Ports& ports, std::shared_ptr<Store> store)
      : ports_(ports), store_(std::move(store)) {
    HOOKE_CHECK(store_ != nullptr, "a step follows the call of a store");
  }

  void set(const std::string& key, Value value) override {
    store_->set(key, std::move(value));
    check_signals(ports_);
  }
  Value get(const std::string& key) override { return stepped(store_->get(key)); }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return stepped(store_->add(key, delta));
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return stepped(store_->compare_set(key, expected, desired));
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    store_->wait(keys, timeout);
    check_signals(ports_);
  }
  bool check(const std::vector<std::string>& keys) override { return stepped(store_->check(keys)); }
  void append(const std::string& key, Value value) override {
    store_->append(key, std::move(value));
    check_signals(ports_);
  }
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    std::vector<Value> values = stepped(store_->multi_get(keys));
    HOOKE_CHECK(values.size() == keys.size(),
                "a store has a value for each key that was asked for");
    return values;
  }
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override {
    store_->multi_set(items);
    check_signals(ports_);
  }
  bool delete_key(const std::string& key) override { return stepped(store_->delete_key(key)); }
  std::int64_t num_keys() override { return stepped(store_->num_keys()); }
  [[nodiscard]] sim::Duration timeout() const override { return store_->timeout(); }
  void set_timeout(sim::Duration timeout) override { store_->set_timeout(timeout); }

 private:
  template <class T>
  T stepped(T answer) {
    check_signals(ports_);
    return answer;
  }

  sim::Ports& ports_;
  std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_stepping_store(sim::Ports& ports, std::shared_ptr<Store> store) {
  return std::make_shared<SteppingStore>(ports, std::move(store));
}

}  // namespace hooke::model
