// What the agents sign at the exit barrier, and what a hardened agent finds out by it.
#include "model/hardened/agent/exit_barrier.h"
#include "properties/unit/model/agent/exit_barrier_jobs.h"

namespace hooke::model {
namespace {

/// `body` gets the barriers of two agents over one store.
void with_barriers(
    const std::function<void(MemoryStoreData&, class ExitBarrier&, class ExitBarrier&)>& body) {
  world::TestWorld world;
  world.start(world.node("a"), "barriers", [&](Ports& ports) {
    const auto data = std::make_shared<MemoryStoreData>();
    MemoryStore store(ports, data);
    class ExitBarrier first(store, 0, 2, kPrefix);
    class ExitBarrier second(store, 1, 2, kPrefix);
    body(*data, first, second);
    return 0;
  });
  world.run();
}

TEST(ExitSignatures, opens_by_its_signatures_when_a_count_is_in_doubt_and_for_agents_that_count) {
  with_barriers([](MemoryStoreData& data, auto& first, auto& second) {
    data.next_sum_is_lost = true;
    first.arrive();
    EXPECT_FALSE(first.is_open(1s));
    second.arrive();
    EXPECT_TRUE(first.is_open(1s));
    EXPECT_EQ(data.text(std::string(kPrefix) + "/last_member"), "<val_ignored>");
  });
}

TEST(ExitSignatures, is_come_to_again_when_its_store_comes_up_empty) {
  with_barriers([](MemoryStoreData& data, auto& first, auto& second) {
    first.arrive();
    EXPECT_TRUE(first.has_come());
    data.values.clear();
    EXPECT_FALSE(first.has_come());
    first.arrive();
    EXPECT_FALSE(first.is_open(1s));
    second.arrive();
    EXPECT_TRUE(second.is_open(1s));
  });
}

/// Comes up empty before the call of that number that writes.
class ForgetfulStore final : public MemoryStore {
 public:
  ForgetfulStore(Ports& ports, std::shared_ptr<MemoryStoreData> data, int forgets_before)
      : MemoryStore(ports, data), forgetful_(std::move(data)), left_(forgets_before) {}
  void set(const std::string& key, Value value) override {
    perhaps_forget();
    MemoryStore::set(key, std::move(value));
  }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    perhaps_forget();
    return MemoryStore::add(key, delta);
  }

 private:
  void perhaps_forget() {
    if (left_-- == 0) forgetful_->values.clear();
  }
  std::shared_ptr<MemoryStoreData> forgetful_;
  int left_;
};

TEST(ExitSignatures, counts_no_agent_twice_whose_store_comes_up_empty_meanwhile) {
  for (int before = 0; before < 4; ++before) {
    world::TestWorld world;
    world.start(world.node("a"), "barrier", [&](Ports& ports) {
      const auto data = std::make_shared<MemoryStoreData>();
      ForgetfulStore store(ports, data, before);
      class ExitBarrier own(store, 0, 2, kPrefix);
      own.arrive();
      if (!own.has_come()) own.arrive();
      EXPECT_TRUE(own.has_come());
      EXPECT_NE(data->text(std::string(kPrefix) + "/num_members"), "2") << before;
      EXPECT_FALSE(own.is_open(1s)) << before;
      return 0;
    });
    world.run();
  }
}

TEST(ExitSignatures, tells_an_agent_that_comes_back_that_all_have_come_and_no_other) {
  with_barriers([](MemoryStoreData& data, auto& first, auto& second) {
    EXPECT_FALSE(first.have_all_come());
    first.arrive();
    EXPECT_FALSE(first.have_all_come());
    data.values[std::string(kPrefix) + "/last_member"] = Value(std::string("1"));
    EXPECT_FALSE(first.have_all_come()) << "opened by an agent that came twice";
    EXPECT_FALSE(second.have_all_come());
    second.arrive();
    EXPECT_TRUE(first.have_all_come());
    EXPECT_TRUE(second.have_all_come());
  });
}

/// Counts the keys that it is asked for.
class CountingStore final : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  bool check(const std::vector<std::string>& keys) override {
    asked += keys.size();
    return MemoryStore::check(keys);
  }
  std::size_t asked = 0;
};

TEST(ExitSignatures, asks_for_one_key_at_each_look_while_one_agent_is_awaited) {
  constexpr std::int64_t kSize = 1000;
  world::TestWorld world;
  world.start(world.node("a"), "barrier", [&](Ports& ports) {
    const auto data = std::make_shared<MemoryStoreData>();
    const auto come = [&](std::int64_t rank) {
      data->values[std::string(kPrefix) + "/done/" + std::to_string(rank)] = Value("1");
    };
    for (std::int64_t rank = 0; rank < kSize; ++rank) {
      if (rank != 700 && rank != 900) come(rank);
    }
    CountingStore store(ports, data);
    class ExitBarrier own(store, 0, kSize, kPrefix);
    EXPECT_FALSE(own.have_all_come());
    for (const std::int64_t missing : {700, 900}) {
      store.asked = 0;
      for (int look = 0; look < 100; ++look) EXPECT_FALSE(own.have_all_come());
      EXPECT_EQ(store.asked, 100U) << missing;
      come(missing);
      EXPECT_EQ(own.have_all_come(), missing == 900);
    }
    return 0;
  });
  world.run();
}

TEST(ExitSignatures, tells_whether_somebody_has_gone_back_to_work) {
  with_barriers([](MemoryStoreData&, auto& first, auto& second) {
    first.arrive();
    second.arrive();
    EXPECT_FALSE(second.has_been_left());
    first.leave();
    EXPECT_TRUE(second.has_been_left());
    first.take_back_leaving();
    EXPECT_FALSE(second.has_been_left());
  });
}

TEST(ExitSignatures, tells_the_done_from_the_lost_as_far_as_all_have_signed) {
  with_barriers([](MemoryStoreData& data, auto& first, auto& second) {
    EXPECT_FALSE(second.may_have_seen({0}));
    first.arrive();
    EXPECT_TRUE(second.may_have_seen({0}));
    EXPECT_FALSE(second.may_have_seen({1}));
    EXPECT_FALSE(second.may_have_seen({0, 1}));
    EXPECT_TRUE(second.may_have_seen({}));  // an agent that is gone
    Value& count = data.values[std::string(kPrefix) + "/num_members"];
    count = Value(std::to_string(std::stoi(count.bytes()) + 1));  // one of torch-2.x
    EXPECT_TRUE(second.may_have_seen({1}));
  });
}

}  // namespace
}  // namespace hooke::model
