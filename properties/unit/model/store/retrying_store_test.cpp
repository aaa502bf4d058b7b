// Waits in slices, outages, and what is left behind.
#include "model/store/retrying_store.h"

#include <gtest/gtest.h>

#include "model/observe/python_error.h"
#include "model/store/store_helpers.h"
#include "properties/unit/model/agent/memory_store.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

struct Retrying {
  std::shared_ptr<MemoryStoreData> data = std::make_shared<MemoryStoreData>();
  std::shared_ptr<Store> inner;
  std::shared_ptr<Store> store;
  std::function<void()> between = [] {};
};

/// Runs `body` in a process with a retrying view of a store in memory, and says how long it took.
sim::Duration with_retries(const std::function<void(sim::Ports&, Retrying&)>& body) {
  world::TestWorld world(world::constant_latency(), 1);
  sim::Duration took{};
  static_cast<void>(world.start(world.node("a"), "client", [&](sim::Ports& ports) {
    Retrying retrying;
    retrying.inner = std::make_shared<MemoryStore>(ports, retrying.data);
    retrying.store = make_retrying_store(ports, retrying.inner, 30s, [&] { retrying.between(); });
    const auto begin = ports.clock.monotonic_now();
    body(ports, retrying);
    took = ports.clock.monotonic_now() - begin;
    return 0;
  }));
  world.run();
  return took;
}

TEST(RetryingStore, looks_up_from_a_wait_once_a_second) {
  struct Enough {};
  int looks = 0;
  const sim::Duration took = with_retries([&](sim::Ports&, Retrying& retrying) {
    retrying.between = [&] {
      if (++looks == 3) throw Enough();
    };
    EXPECT_THROW(static_cast<void>(retrying.store->get("k")), Enough);
  });
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(took, 3s);
}

/// A store that cannot be reached.
class Away final : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  void wait(const std::vector<std::string>&, std::optional<sim::Duration>) override {
    throw StoreNetworkError("away", false);
  }
};

TEST(RetryingStore, asks_behind_a_slice_in_vain_and_not_while_the_store_is_away) {
  struct Enough {};
  int asked = 0;
  static_cast<void>(with_retries([&](sim::Ports& ports, Retrying& retrying) {
    const auto ask = [&] {
      if (++asked == 3) throw Enough();
    };
    const auto there = make_retrying_store(
        ports, retrying.inner, 3s, [] {}, ask);
    EXPECT_THROW(static_cast<void>(there->get("k")), Enough);
    const auto inner = std::make_shared<Away>(ports, retrying.data);
    const auto away = make_retrying_store(
        ports, inner, 3s, [] {}, ask);
    EXPECT_THROW(static_cast<void>(away->get("k")), StoreNetworkError);
  }));
  EXPECT_EQ(asked, 3);
}

/// A store that loses what it has between a wait for it and its reading.
class Forgetful final : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    MemoryStore::wait(keys, timeout);
    if (std::exchange(forgets_, false)) forget();
  }
  std::function<void()> forget = [] {};

 private:
  bool forgets_ = true;
};

TEST(RetryingStore, looks_up_when_what_it_waited_for_is_gone_before_it_is_read) {
  struct Enough {};
  const sim::Duration took = with_retries([](sim::Ports& ports, Retrying& retrying) {
    const auto inner = std::make_shared<Forgetful>(ports, retrying.data);
    inner->forget = [&] { retrying.data->values.clear(); };
    const auto store = make_retrying_store(ports, inner, 30s, [] { throw Enough(); });
    store->set("k", Value("v"));
    EXPECT_THROW(static_cast<void>(store->get("k")), Enough);
    EXPECT_EQ(inner->timeout(), 300s);
  });
  EXPECT_EQ(took, 2s);  // a read that finds nothing, and a slice
}

TEST(RetryingStore, times_out_when_it_should_and_names_the_keys) {
  const sim::Duration took = with_retries([&](sim::Ports&, Retrying& retrying) {
    try {
      retrying.store->wait({"k", "l"}, 2500ms);
      ADD_FAILURE() << "nothing was there";
    } catch (const StoreTimeoutError& error) {
      EXPECT_STREQ(error.what(), "wait timeout after 2500ms, keys: k, l");
    }
  });
  EXPECT_EQ(took, 2500ms);
}

TEST(RetryingStore, leaves_no_time_out_behind_in_the_store_below) {  // S-30
  with_retries([&](sim::Ports&, Retrying& retrying) {
    EXPECT_THROW(barrier(*retrying.store, 2, "end", 3s), StoreTimeoutError);
    EXPECT_EQ(retrying.inner->timeout(), 300s);
  });
}

/// What is waited for is gone when it is asked for: the store was started anew in between.
class ForgetfulStore final : public MemoryStore {
 public:
  ForgetfulStore(sim::Ports& ports, std::shared_ptr<MemoryStoreData> data)
      : MemoryStore(ports, data), data_(std::move(data)) {}
  void wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) override {
    MemoryStore::wait(keys, timeout);
    if (std::exchange(forgets_, false)) data_->values.clear();
  }

 private:
  std::shared_ptr<MemoryStoreData> data_;
  bool forgets_ = true;
};

TEST(RetryingStore, looks_up_also_when_what_was_there_is_gone) {
  struct Enough {};
  int looks = 0;
  with_retries([&](sim::Ports& ports, Retrying& retrying) {
    retrying.data->values["k"] = Value("v");
    const auto forgetful = make_retrying_store(
        ports, std::make_shared<ForgetfulStore>(ports, retrying.data), 30s, [&] {
          if (++looks == 3) throw Enough();
        });
    EXPECT_THROW(static_cast<void>(forgetful->get("k")), Enough);
  });
  EXPECT_EQ(looks, 3);
}

TEST(RetryingStore, outlasts_a_store_that_cannot_be_reached_and_gives_up_after_its_time) {
  with_retries([&](sim::Ports& ports, Retrying& retrying) {
    retrying.data->lost = true;
    int attempts = 0;
    retrying.between = [&] { retrying.data->lost = ++attempts < 20; };
    retrying.store->set("k", Value("v"));
    EXPECT_EQ(retrying.data->text("k"), "v");
    EXPECT_EQ(attempts, 20);
    retrying.data->lost = true;
    retrying.between = [] {};
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(retrying.store->check({"k"})), StoreNetworkError);
    EXPECT_EQ(ports.clock.monotonic_now() - begin, 30s);
  });
}

TEST(RetryingStore, endures_an_outage_no_longer_than_its_time_out) {
  with_retries([&](sim::Ports& ports, Retrying& retrying) {
    retrying.data->lost = true;
    retrying.store->set_timeout(7s);
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(retrying.store->check({"k"})), StoreNetworkError);
    EXPECT_EQ(ports.clock.monotonic_now() - begin, 7s);
    EXPECT_THROW(retrying.store->wait({"k"}, 0s), StoreNetworkError);
    EXPECT_EQ(ports.clock.monotonic_now() - begin, 14s);
    retrying.store->set_timeout(0s);
    EXPECT_THROW(retrying.store->set("k", Value("v")), StoreNetworkError) << "it is tried once";
    EXPECT_EQ(ports.clock.monotonic_now() - begin, 14s);
  });
}

/// A store of which each wait finds after a while that it cannot be reached.
class LateToFail final : public Store {
 public:
  LateToFail(sim::Ports& ports, sim::Duration after) : ports_(ports), after_(after) {}
  void set(const std::string&, Value) override {}
  Value get(const std::string&) override { return Value(); }
  std::int64_t add(const std::string&, std::int64_t) override { return 0; }
  Value compare_set(const std::string&, const Value&, const Value&) override { return Value(); }
  void wait(const std::vector<std::string>&, std::optional<sim::Duration>) override {
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + after_);
    after_ = {};
    throw StoreNetworkError("lost", false);
  }
  bool check(const std::vector<std::string>&) override { return false; }
  void append(const std::string&, Value) override {}
  bool delete_key(const std::string&) override { return false; }
  std::int64_t num_keys() override { return 0; }
  [[nodiscard]] sim::Duration timeout() const override { return 300s; }
  void set_timeout(sim::Duration) override {}

 private:
  sim::Ports& ports_;
  sim::Duration after_;
};

TEST(RetryingStore, counts_an_outage_from_when_it_is_felt_but_no_time_out_of_the_store_twice) {
  const auto gives_up_after = [](sim::Duration felt) {
    return with_retries([&](sim::Ports& ports, Retrying&) {
      const auto store =
          make_retrying_store(ports, std::make_shared<LateToFail>(ports, felt), 30s, [] {});
      EXPECT_THROW(store->wait({"k"}), StoreNetworkError);
    });
  };
  EXPECT_EQ(gives_up_after(600ms), 30600ms);
  EXPECT_EQ(gives_up_after(20s), 31s);
}

/// A store whose waits end as those of the legacy etcd store do.
class LookupStore final : public Store {
 public:
  void set(const std::string&, Value) override {}
  Value get(const std::string&) override { return Value(); }
  std::int64_t add(const std::string&, std::int64_t) override {
    throw StoreNetworkError("lost", true);
  }
  Value compare_set(const std::string&, const Value&, const Value&) override { return Value(); }
  void wait(const std::vector<std::string>&, std::optional<sim::Duration>) override {
    throw EscapedPythonError("LookupError", "no such key in time");
  }
  bool check(const std::vector<std::string>&) override { return false; }
  void append(const std::string&, Value) override {}
  bool delete_key(const std::string&) override { return false; }
  std::int64_t num_keys() override { return 0; }
  [[nodiscard]] sim::Duration timeout() const override { return 1s; }
  void set_timeout(sim::Duration) override {}
};

TEST(RetryingStore, times_out_alike_over_every_store) {  // S-L16
  with_retries([&](sim::Ports& ports, Retrying&) {
    const auto store = make_retrying_store(ports, std::make_shared<LookupStore>(), 30s, [] {});
    EXPECT_THROW(store->wait({"k"}), StoreTimeoutError);
  });
}

TEST(RetryingStore, does_nothing_twice_that_may_have_been_done) {
  const sim::Duration took = with_retries([&](sim::Ports& ports, Retrying&) {
    const auto store = make_retrying_store(ports, std::make_shared<LookupStore>(), 30s, [] {});
    EXPECT_THROW(static_cast<void>(store->add("n", 1)), StoreNetworkError);
  });
  EXPECT_EQ(took, 0s);
}

}  // namespace
}  // namespace hooke::model
