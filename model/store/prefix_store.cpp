// A view on another store under a prefix; see spec of PrefixStore in store.h.
#include <utility>

#include "model/store/store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store)
      : prefix_(std::move(prefix) + "/"), store_(std::move(store)) {
    HOOKE_CHECK(store_ != nullptr, "a prefix is one of the keys of a store");
  }

  void set(const std::string& key, Value value) override {
    store_->set(prefix_ + key, std::move(value));
  }
  Value get(const std::string& key) override { return store_->get(prefix_ + key); }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    return store_->add(prefix_ + key, delta);
  }
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    return store_->compare_set(prefix_ + key, expected, desired);
  }
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    store_->wait(prefixed(keys), timeout);
  }
  bool check(const std::vector<std::string>& keys) override {
    return store_->check(prefixed(keys));
  }
  void append(const std::string& key, Value value) override {
    store_->append(prefix_ + key, std::move(value));
  }
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override {
    std::vector<Value> values = store_->multi_get(prefixed(keys));
    HOOKE_CHECK(values.size() == keys.size(),
                "a store has a value for each key that was asked for");
    return values;
  }
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override {
    std::vector<std::pair<std::string, Value>> out;
    out.reserve(items.size());
    for (const auto& [key, value] : items) out.emplace_back(prefix_ + key, value);
    store_->multi_set(out);
  }
  bool delete_key(const std::string& key) override { return store_->delete_key(prefix_ + key); }
  std::int64_t num_keys() override { return store_->num_keys(); }
  [[nodiscard]] sim::Duration timeout() const override { return store_->timeout(); }
  void set_timeout(sim::Duration timeout) override { store_->set_timeout(timeout); }

 private:
  [[nodiscard]] std::vector<std::string> prefixed(const std::vector<std::string>& keys) const {
    HOOKE_CHECK(!prefix_.empty() && prefix_.back() == '/', "a prefix ends in a slash");
    std::vector<std::string> out;
    out.reserve(keys.size());
    for (const std::string& key : keys) out.push_back(prefix_ + key);
    return out;
  }

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store) {
  return std::make_shared<PrefixStore>(std::move(prefix), std::move(store));
}

}  // namespace hooke::model
