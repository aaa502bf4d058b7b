// What a restart budget counts: an agent's own, and one of the whole job in its store.
#include "model/agent/restart_budget.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "model/hardened/agent/job_budget.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

class Budget : public world::TestWorld {
 public:
  void with(std::function<void(Ports&)> body) {
    world->register_program("budget", [body = std::move(body)](Ports& ports) {
      body(ports);
      return 0;
    });
    EXPECT_TRUE(world->start(node("a"), {{"budget"}, {}, true, {}, {}}).ok());
    run();
  }
  std::shared_ptr<MemoryStoreData> data = std::make_shared<MemoryStoreData>();
};

TEST(RestartBudget, the_agents_own_counts_down_and_knows_no_rounds) {
  const auto budget = make_own_budget(2);
  EXPECT_EQ(budget->remaining(1), 2);
  EXPECT_EQ(budget->spend(1), 1);
  EXPECT_EQ(budget->spend(1), 0);
  EXPECT_EQ(budget->remaining(7), 0);
  EXPECT_EQ(budget->spend(7), std::nullopt);
}

TEST(RestartBudget, the_jobs_is_spent_once_per_round_by_the_agent_that_comes_first) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    const auto b = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->remaining(1), 2);
    EXPECT_EQ(a->spend(1), 1);
    EXPECT_EQ(b->remaining(1), 2);  // of round 1 nothing more is to be paid
    EXPECT_EQ(b->spend(1), 1);
    EXPECT_EQ(b->remaining(2), 1);
    EXPECT_EQ(b->spend(2), 0);
    EXPECT_EQ(a->remaining(2), 1);
    EXPECT_EQ(a->spend(2), 0);
    EXPECT_EQ(a->remaining(3), 0);
    EXPECT_EQ(a->spend(3), std::nullopt);
    const auto replacement = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(replacement->remaining(3), 0);
  });
}

TEST(RestartBudget, the_jobs_is_given_back_to_a_store_that_comes_up_empty) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
    const auto b = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(1), 2);
    b->look();
    test.data->values.clear();
    EXPECT_EQ(b->remaining(2), 2);
    EXPECT_EQ(b->spend(2), 1);
    EXPECT_EQ(a->remaining(3), 1);
    EXPECT_EQ(test.data->text("restarts"), "2 2");
  });
}

/// Comes up empty right after it has said that something is there.
class ForgetfulAfterCheck final : public MemoryStore {
 public:
  ForgetfulAfterCheck(Ports& ports, std::shared_ptr<MemoryStoreData> data)
      : MemoryStore(ports, data), data_(std::move(data)) {}
  bool check(const std::vector<std::string>& keys) override {
    const bool there = MemoryStore::check(keys);
    if (there && std::exchange(forgets_, false)) data_->values.clear();
    return there;
  }

 private:
  std::shared_ptr<MemoryStoreData> data_;
  bool forgets_ = true;
};

TEST(RestartBudget, no_agent_waits_for_a_count_that_went_when_it_was_asked_for) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto store = std::make_shared<ForgetfulAfterCheck>(ports, test.data);
    const auto a = make_job_budget(3, store);
    test.data->values["restarts"] = Value("1 1");
    const sim::MonotonicTime before = ports.clock.monotonic_now();
    EXPECT_EQ(a->spend(2), 2);
    EXPECT_LE(ports.clock.monotonic_now() - before, 5s);
    EXPECT_EQ(store->timeout(), 300s) << "its time-out is left as it was";
  });
}

TEST(RestartBudget, what_a_store_that_came_up_empty_has_forgotten_is_spent_all_the_same) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(1), 1);
    test.data->values.clear();
    EXPECT_EQ(a->remaining(2), 1);
    EXPECT_EQ(a->spend(2), 0);
    const auto b = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(b->remaining(3), 0) << "it has been told again";
  });
}

TEST(RestartBudget, an_agent_that_looks_tells_a_store_that_came_up_empty_what_it_knows) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(1), 1);
    test.data->values.clear();
    a->look();
    EXPECT_EQ(test.data->text("restarts"), "1 1");
    const auto newcomer = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(newcomer->remaining(2), 1);
  });
}

TEST(RestartBudget, an_agent_that_goes_because_nothing_is_left_tells_agents_that_have_begun_anew) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(1, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(1), 0);
    test.data->values.clear();
    EXPECT_EQ(a->spend(2), std::nullopt);
    const auto newcomer = make_job_budget(1, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(newcomer->spend(1), std::nullopt) << "this round 1 is another one";
  });
}

TEST(RestartBudget, while_the_store_is_silent_what_is_known_of_the_others_counts) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
    const auto b = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(1), 2);
    EXPECT_EQ(a->spend(2), 1);
    b->look();
    test.data->lost = true;
    EXPECT_EQ(b->remaining(2), 2) << "for that round it has been paid";
    EXPECT_EQ(b->remaining(3), 1);
    EXPECT_EQ(b->spend(3), 0);
    EXPECT_EQ(b->remaining(4), 0);
    test.data->lost = false;
    b->look();
    EXPECT_EQ(a->remaining(4), 0) << "the store has been told when it answered again";
  });
}

TEST(RestartBudget, a_count_that_no_job_reaches_is_another_programs) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    test.data->lost = true;
    EXPECT_EQ(a->spend(1), 1);
    test.data->lost = false;
    test.data->values["restarts"] = Value("9223372036854775807 0");
    EXPECT_EQ(a->remaining(2), 1) << "its own, not a sum beyond all numbers";
    EXPECT_EQ(a->spend(2), 0);
    EXPECT_EQ(test.data->text("restarts"), "2 2");
    const auto b = make_job_budget(INT64_MAX, std::make_shared<MemoryStore>(ports, test.data), "1");
    test.data->values["restarts"] = Value("2305843009213693952 3");
    EXPECT_TRUE(b->look());
    test.data->lost = true;
    EXPECT_TRUE(b->spend(4) && b->spend(-1));
    test.data->lost = false;
    test.data->values.clear();
    EXPECT_TRUE(b->look());
    EXPECT_TRUE(test.data->text("restarts").starts_with("2305843009213693952 ")) << "no sum either";
  });
}

TEST(RestartBudget, what_was_taken_while_the_store_was_silent_is_told_before_the_next_round) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    a->settle();
    EXPECT_EQ(test.data->text("restarts"), "<none>") << "there is nothing to tell";
    test.data->lost = true;
    EXPECT_EQ(a->spend(1), 1);
    a->settle();
    test.data->lost = false;
    a->settle();
    EXPECT_EQ(test.data->text("restarts"), "1 1");
    const auto b = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(b->remaining(2), 1);
  });
}

TEST(RestartBudget, what_was_taken_while_the_store_was_silent_comes_on_top_of_what_was_not_heard) {
  for (const std::int64_t round : {1, 2}) {
    Budget test;
    test.with([&](Ports& ports) {
      const auto a = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
      const auto b = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data));
      EXPECT_EQ(a->spend(1), 2);
      test.data->lost = true;
      EXPECT_EQ(b->spend(round), 2) << "it has not looked since";
      test.data->lost = false;
      b->settle();
      b->settle();
      EXPECT_EQ(test.data->text("restarts"), round == 1 ? "1 1" : "2 2");
      EXPECT_EQ(a->remaining(3), round == 1 ? 2 : 1);
      EXPECT_EQ(b->remaining(3), round == 1 ? 2 : 1);
    });
  }
}

/// The store goes twice: with what it was told when it answered, the others are told anew.
TEST(RestartBudget, what_a_lost_store_was_told_is_told_to_the_next_before_the_round) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(1, std::make_shared<MemoryStore>(ports, test.data));
    const auto b = make_job_budget(1, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(0), 0);
    test.data->values.clear();
    a->settle();
    b->look();
    test.data->values.clear();
    EXPECT_EQ(b->spend(2), std::nullopt) << "the one restart was that of round 0";
  });
}

TEST(RestartBudget, without_rounds_every_restart_of_the_job_counts) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(2, std::make_shared<MemoryStore>(ports, test.data));
    EXPECT_EQ(a->spend(-1), 1);
    EXPECT_EQ(a->spend(-1), 0);
    EXPECT_EQ(a->spend(-1), std::nullopt);
  });
}

TEST(RestartBudget, a_worker_that_is_started_again_alone_does_not_pay_for_the_round) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data), "1");
    const auto b = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data), "2");
    EXPECT_EQ(a->spend(4), 2);
    EXPECT_EQ(b->spend(-1), 1);
    EXPECT_EQ(test.data->text("restarts"), "2 4 2");
    EXPECT_EQ(b->spend(4), 1) << "that the group's has been paid is known still";
    EXPECT_EQ(a->remaining(5), 1) << "what the other wrote is read";
  });
}

TEST(RestartBudget, workers_that_were_started_again_alone_in_the_silence_are_summed_when_it_ends) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(4, std::make_shared<MemoryStore>(ports, test.data), "1");
    const auto b = make_job_budget(4, std::make_shared<MemoryStore>(ports, test.data), "2");
    EXPECT_FALSE(a->has_untold());
    test.data->lost = true;
    EXPECT_EQ(a->spend(-1), 3);
    EXPECT_EQ(b->spend(-1), 3);
    EXPECT_EQ(b->spend(-1), 2);
    EXPECT_TRUE(a->has_untold());
    EXPECT_FALSE(a->look()) << "the store is silent still";
    EXPECT_TRUE(a->has_untold());
    test.data->lost = false;
    EXPECT_TRUE(a->look());
    EXPECT_FALSE(a->has_untold());
    EXPECT_EQ(test.data->text("restarts"), "1 -1 1");
    EXPECT_TRUE(b->look());
    EXPECT_FALSE(b->has_untold());
    EXPECT_EQ(test.data->text("restarts"), "3 -1 2");
    EXPECT_TRUE(b->look()) << "what was told is told once";
    EXPECT_EQ(test.data->text("restarts"), "3 -1 2");
    EXPECT_EQ(a->spend(-1), 0);
    EXPECT_EQ(b->spend(-1), std::nullopt);
  });
}

TEST(RestartBudget, one_that_is_taken_when_the_store_answers_again_tells_those_of_the_silence) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data), "1");
    const auto b = make_job_budget(3, std::make_shared<MemoryStore>(ports, test.data), "2");
    EXPECT_EQ(b->spend(-1), 2);
    test.data->lost = true;
    EXPECT_EQ(a->spend(-1), 2) << "it knows of its own alone";
    test.data->lost = false;
    EXPECT_EQ(a->spend(-1), 0);
    EXPECT_EQ(test.data->text("restarts"), "3 -1 1");
    EXPECT_EQ(b->spend(-1), std::nullopt);
  });
}

/// Writes, and is gone before it has said so.
class SilentAfterWrite final : public MemoryStore {
 public:
  SilentAfterWrite(Ports& ports, std::shared_ptr<MemoryStoreData> data)
      : MemoryStore(ports, data), data_(std::move(data)) {}
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    Value now = MemoryStore::compare_set(key, expected, desired);
    if (std::exchange(speaks_, false)) throw StoreNetworkError("the reply is lost");
    return now;
  }

 private:
  std::shared_ptr<MemoryStoreData> data_;
  bool speaks_ = true;
};

TEST(RestartBudget, a_restart_whose_confirmation_was_lost_is_one_restart) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(3, std::make_shared<SilentAfterWrite>(ports, test.data), "1");
    EXPECT_EQ(a->spend(-1), 2);
    EXPECT_EQ(test.data->text("restarts"), "1 -1 1");
    EXPECT_TRUE(a->look());
    EXPECT_FALSE(a->has_untold());
    EXPECT_EQ(test.data->text("restarts"), "1 -1 1");
    EXPECT_EQ(a->remaining(-1), 2);
  });
}

TEST(RestartBudget, what_was_taken_alone_in_the_silence_is_told_to_a_store_that_came_up_empty) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto a = make_job_budget(4, std::make_shared<MemoryStore>(ports, test.data), "1");
    const auto b = make_job_budget(4, std::make_shared<MemoryStore>(ports, test.data), "2");
    EXPECT_EQ(b->spend(-1), 3);
    EXPECT_EQ(a->remaining(-1), 3);
    test.data->lost = true;
    EXPECT_EQ(a->spend(-1), 2);
    test.data->lost = false;
    test.data->values.clear();
    EXPECT_TRUE(b->look());
    EXPECT_EQ(test.data->text("restarts"), "1 -1");
    EXPECT_TRUE(a->look());
    EXPECT_EQ(test.data->text("restarts"), "2 -1 1");
  });
}

/// Another agent writes first, right before its own write.
class Overtaken final : public MemoryStore {
 public:
  Overtaken(Ports& ports, std::shared_ptr<MemoryStoreData> data, std::function<void()> other)
      : MemoryStore(ports, std::move(data)), other_(std::move(other)) {}
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override {
    if (other_) std::exchange(other_, nullptr)();
    return MemoryStore::compare_set(key, expected, desired);
  }

 private:
  std::function<void()> other_;
};

TEST(RestartBudget, two_agents_that_start_a_worker_again_at_once_take_two_restarts) {
  Budget test;
  test.with([&](Ports& ports) {
    const auto b = make_job_budget(1, std::make_shared<MemoryStore>(ports, test.data), "2");
    const auto store =
        std::make_shared<Overtaken>(ports, test.data, [&] { EXPECT_EQ(b->spend(-1), 0); });
    const auto a = make_job_budget(1, store, "1");
    EXPECT_EQ(a->spend(-1), std::nullopt) << "the other's text is not its own";
  });
}

RC_GTEST_PROP(RestartBudget,
              in_whatever_order_agents_fail_the_job_is_restarted_no_more_than_allowed, ()) {
  const auto allowed = *rc::gen::inRange<std::int64_t>(0, 5);
  const auto failures = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 8)));  // agent, rounds since
  std::set<std::int64_t> restarted;
  std::set<std::int64_t> refused;
  std::int64_t broken_invariants = 0;
  Budget test;
  test.with([&](Ports& ports) {
    std::vector<std::unique_ptr<RestartBudget>> agents;
    for (int i = 0; i < 4; ++i) {
      agents.push_back(make_job_budget(allowed, std::make_shared<MemoryStore>(ports, test.data)));
    }
    std::int64_t round = 0;
    for (const auto& [agent, later] : failures) {
      round += later / 4;  // mostly the same round again
      RestartBudget& budget = *agents[static_cast<std::size_t>(agent)];
      const bool promised = budget.remaining(round) > 0;
      const bool granted = budget.spend(round).has_value();
      if (promised != granted) ++broken_invariants;
      (granted ? restarted : refused).insert(round);
    }
  });
  RC_ASSERT(broken_invariants == 0);
  RC_ASSERT(static_cast<std::int64_t>(restarted.size()) <= allowed);
  if (!refused.empty()) RC_ASSERT(static_cast<std::int64_t>(restarted.size()) == allowed);
  for (const std::int64_t round : refused) RC_ASSERT(!restarted.contains(round));
}

}  // namespace
}  // namespace hooke::model
