// The exit barrier of a hardened agent, which signs, and goes back where others do.
#include "model/store/retrying_store.h"
#include "properties/unit/model/agent/exit_barrier_jobs.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// Node a is hardened and done after a second; node b works on for long.
void let_a_wait_for_b(TestJob& job) {
  job[0].config.variant = Variant::hardened;
  run_spans(job, {1s, 1000s});
}

bool waits_in_barrier(const TestJob& job) {
  return !job.events_named("exit_barrier.entered").empty();
}

TEST(HardenedExitBarrier, is_left_by_a_hardened_agent_when_the_rendezvous_is_closed) {
  TestJob job(2);
  job[0].rendezvous.waiting = [&](Ports&) -> std::int64_t {
    if (waits_in_barrier(job)) job[0].rendezvous.shutdowns = 1;
    return 0;
  };
  let_a_wait_for_b(job);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "closed");
  EXPECT_EQ(left[0].at, 3s);
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job[0].rendezvous.leaves, 0);  // an agent that meant to close it may have failed to
}

TEST(HardenedExitBarrier,
     is_left_by_a_hardened_agent_for_another_round_and_the_work_done_counts) {
  TestJob job(2);
  job[0].rendezvous.waiting = [&](Ports&) { return waits_in_barrier(job) ? 1 : 0; };
  job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
    if (call > 0) throw RendezvousClosedError("too late");
    return job.round_of(ports, call + 1);
  };
  let_a_wait_for_b(job);
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"others_return"}));
  EXPECT_EQ(job.texts("group.restarting", "cause"), (Texts{"membership_change"}));
  EXPECT_EQ(job[0].rendezvous.joins, 2);
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
}

TEST(HardenedExitBarrier, whose_time_is_up_is_only_looked_at_by_a_hardened_agent) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  job[0].rendezvous.waiting = [&](Ports& ports) -> std::int64_t {
    if (waits_in_barrier(job)) world::sleep(ports, 25s);  // the store is slow
    return 0;
  };
  let_a_wait_for_b(job);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "timed_out");
  EXPECT_EQ(left[0]["elapsed"], "78000000000");
  const Texts calls = barrier_calls(job);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "check /done/0"), 1 + 2)
      << "as one of all, and twice, but not when the time is up, as its own";
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "check /done/1"), 4)
      << "the one that is awaited";
}

TEST(HardenedExitBarrier, ends_in_time_for_a_hardened_agent_whose_store_is_lost) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
    RendezvousInfo info = job.round_of(ports, call + 1);
    info.store = make_retrying_store(ports, info.store, 45s, [] {});
    return info;
  };
  job.at(5s, [&] { job.store(1)->lose(); });
  let_a_wait_for_b(job);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "failed");
  EXPECT_EQ(left[0]["elapsed"], "60000000000") << "the store is asked again until the time is up";
  EXPECT_EQ(job.status(0), 0);
}

/// How a leaves the barrier when there is another round without it, and when that was.
Seen left_beside_another_round(bool others_have_left) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  job[0].rendezvous.successor = [&] {
    return waits_in_barrier(job) ? Successor::complete : Successor::none;
  };
  if (others_have_left)
    job.store(1)->values[std::string(kPrefix) + "/left"] = Value(std::string("1"));
  let_a_wait_for_b(job);
  EXPECT_EQ(job[0].rendezvous.joins, 1);
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);  // what the others have formed is not its to close
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
  return job.events_named("exit_barrier.left").at(0);
}

TEST(HardenedExitBarrier,
     is_left_by_a_hardened_agent_without_which_the_others_have_gone_back) {
  const Seen left = left_beside_another_round(true);
  EXPECT_EQ(left["result"], "left_behind");
  EXPECT_EQ(left.at, 2s);
}

TEST(HardenedExitBarrier,
     is_not_left_by_a_hardened_agent_before_others_that_were_there_have_left_it) {
  const Seen left = left_beside_another_round(false);
  EXPECT_EQ(left["result"], "timed_out");
  EXPECT_EQ(left.at, 61s);
}

TEST(HardenedExitBarrier, is_not_passed_by_a_hardened_agent_when_it_is_full_but_one_has_gone_back) {
  for (const Successor next : {Successor::begun, Successor::none}) {
    TestJob job(2);
    job[0].config.variant = Variant::hardened;
    job[0].config.exit_barrier_timeout = 60s;
    job[0].rendezvous.successor = [&] {
      return job.events_named("exit_barrier.entered", 1).empty() ? Successor::none : next;
    };
    job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
      if (call > 0) throw RendezvousClosedError("too late");
      return job.round_of(ports, call + 1);
    };
    job.store(1)->values[std::string(kPrefix) + "/left"] = Value(std::string("1"));
    run_spans(job, {1s, 20s});
    const auto left = job.events_named("exit_barrier.left", 0);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0]["result"], next == Successor::begun ? "others_return" : "timed_out");
    const Texts calls = barrier_calls(job);
    EXPECT_LT(std::count(calls.begin(), calls.end(), "check /left"), 80) << "a look a second";
  }
}

TEST(HardenedExitBarrier,
     is_not_passed_by_a_hardened_agent_when_another_group_has_taken_its_round) {
  for (const bool taken : {true, false}) {
    TestJob job(2);
    job[0].config.exit_barrier_timeout = 60s;
    bool is_new = false;
    job[0].rendezvous.round_is_taken = [&] { return taken && is_new; };
    // Others have formed a group in a store that came up empty, and are done.
    job.at(10s, [&] {
      is_new = true;
      job.store(1)->values.clear();
      job.store(1)->values[std::string(kPrefix) + "/last_member"] = Value(std::string("1"));
    });
    let_a_wait_for_b(job);
    const auto left = job.events_named("exit_barrier.left", 0);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0]["result"], taken ? "timed_out" : "passed");
    const Texts calls = barrier_calls(job);
    EXPECT_LT(std::count(calls.begin(), calls.end(), "check /done/0"), 80) << "a look a second";
    EXPECT_LT(job[0].rendezvous.looks, 80) << "a look a second";
  }
}

TEST(HardenedExitBarrier,
     is_not_passed_by_a_hardened_agent_where_another_group_opens_it_meanwhile) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  bool is_new = false;
  job[0].rendezvous.round_is_taken = [&] { return is_new; };
  job.at(10500ms, [&] {  // between a question whether the round is taken and the next one
    is_new = true;
    job.store(1)->values.clear();
    job.store(1)->values[std::string(kPrefix) + "/last_member"] = Value(std::string("1"));
    job.store(1)->wake_all();
  });
  let_a_wait_for_b(job);
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"timed_out"}));
}

TEST(HardenedExitBarrier, is_passed_where_it_cannot_be_asked_whether_it_is_another_groups_now) {
  TestJob job(2);
  job[0].rendezvous.round_is_taken = [&]() -> bool {
    if (job.store(1)->values.contains(std::string(kPrefix) + "/last_member"))
      throw RendezvousConnectionError("the store has gone with the others");
    return false;
  };
  job[0].config.variant = job[1].config.variant = Variant::hardened;
  run_spans(job, {1s, 20s});
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"passed"}));
}

/// Node a goes back to work for others that form a round, and another group has taken its own by the
/// time of that one of its questions. What the barrier says of a then.
std::string left_in_the_barrier_that_is_taken_at(int question) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  int asked = 0;
  bool is_back = false;
  job[0].rendezvous.round_is_taken = [&] { return ++asked >= question; };
  job[0].rendezvous.successor = [&] {
    return waits_in_barrier(job) && !is_back ? Successor::begun : Successor::none;
  };
  job[0].rendezvous.join = [&](Ports& ports, std::int64_t call) {
    is_back = call > 0;
    if (is_back) throw RendezvousClosedError("too late");
    return job.round_of(ports, call + 1);
  };
  let_a_wait_for_b(job);
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"others_return"})) << question;
  return job.store(1)->text(std::string(kPrefix) + "/left");
}

TEST(HardenedExitBarrier, is_not_left_for_a_group_that_has_taken_its_round) {
  EXPECT_EQ(left_in_the_barrier_that_is_taken_at(1), "<none>");
  EXPECT_EQ(left_in_the_barrier_that_is_taken_at(2), "<none>") << "since a's last look at it";
  EXPECT_EQ(left_in_the_barrier_that_is_taken_at(3), "0") << "while a said that it goes";
  EXPECT_EQ(left_in_the_barrier_that_is_taken_at(4), "1") << "a has gone";
}

TEST(HardenedExitBarrier,
     is_come_to_again_by_a_hardened_agent_that_the_store_has_forgotten) {
  TestJob job(2);
  bool forgotten = false;
  job[0].config.variant = Variant::hardened;
  job[0].rendezvous.waiting = [&](Ports&) -> std::int64_t {
    if (waits_in_barrier(job) && !std::exchange(forgotten, true)) job.store(1)->values.clear();
    return 0;
  };
  run_spans(job, {1s, 10s});
  EXPECT_TRUE(forgotten);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(job.texts("exit_barrier.left", "result", i), (Texts{"passed"}));
  }
}

/// A job without rounds (static) in which rank 0 had come to the barrier before its node came back.
void run_in_the_place_of_one_that_had_come(TestJob& job) {
  job.store(1)->values[std::string(kPrefix) + "/num_members"] = Value(std::string("1"));
  job.store(1)->values[std::string(kPrefix) + "/done/0"] = Value(std::string("1"));
  for (std::size_t i = 0; i < 2; ++i) {
    job[i].config.variant = Variant::hardened;
    job[i].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
      RendezvousInfo info = job.round_of(ports, call + 1);
      info.round = -1;
      return info;
    };
  }
  run_spans(job, {1s, 20s});
}

TEST(HardenedExitBarrier, counts_a_static_rank_once_whose_agent_comes_back) {
  TestJob job(2);
  run_in_the_place_of_one_that_had_come(job);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto left = job.events_named("exit_barrier.left", i);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0]["result"], "passed");
    EXPECT_EQ(left[0].at, 20s) << "no agent leaves before the other has come";
  }
  EXPECT_EQ(job.store(1)->text(std::string(kPrefix) + "/num_members"), "2");
}

TEST(HardenedExitBarrier, that_is_over_for_a_hardened_agent_alone_closes_nothing) {  // L-2
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  let_a_wait_for_b(job);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "timed_out");
  EXPECT_EQ(left[0].at, 61s);
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
}

}  // namespace
}  // namespace hooke::model
