// Which restarts a hardened agent charges to its job, and what it knows of those of others.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

TEST(ChargedRestarts, what_fails_in_a_round_that_the_others_have_left_costs_them_no_restart) {
  const auto restarts = [](Successor next, std::int64_t max_restarts) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job[0].config.max_restarts = max_restarts;
    FakeRendezvous& rendezvous = job[0].rendezvous;
    rendezvous.successor = [&] { return rendezvous.joins == 1 ? next : Successor::none; };
    job.worker = [&](Ports& ports) {
      world::sleep(ports, 1s);
      return rendezvous.joins == 1 ? 7 : 0;
    };
    job.start_and_run();
    Texts told = job.texts("group.restarting", "cause");
    for (const std::string& left : job.texts("group.restarting", "remaining_restarts"))
      told.push_back(left);
    return told;
  };
  EXPECT_EQ(restarts(Successor::complete, 1), (Texts{"rendezvous_lost", "1"}));
  EXPECT_EQ(restarts(Successor::begun, 1), (Texts{"worker_failure", "0"}));
  EXPECT_EQ(restarts(Successor::complete, 0), Texts()) << "its own end";
}

/// What restarts are told to be for, and what each of them leaves.
Texts restarts_told(const TestJob& job) {
  Texts told = job.texts("group.restarting", "cause");
  for (const std::string& left : job.texts("group.restarting", "remaining_restarts"))
    told.push_back(left);
  return told;
}

/// What a restart is told to be for, and to leave: a worker fails after 5 s, while a question that
/// gets no answer takes `silence`. The rendezvous answers the next one, or not, and knows of `next`.
Texts restart_behind_a_silence(Duration silence, bool answers, Successor next) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 1;
  FakeRendezvous& rendezvous = job[0].rendezvous;
  rendezvous.outage_limit = 10s;
  rendezvous.waiting = [&, silence](Ports& ports) -> std::int64_t {
    if (rendezvous.joins > 1 || rendezvous.looks < 5) return 0;
    world::sleep(ports, silence);
    throw RendezvousConnectionError("no answer");
  };
  bool is_heard = false;
  rendezvous.group_state = [&, answers](Ports&) {
    if (!answers && rendezvous.joins == 1 && rendezvous.looks >= 5)
      throw RendezvousConnectionError("no answer");
    is_heard = rendezvous.looks >= 5;
    return GroupState::whole;
  };
  rendezvous.successor = [&, next] {
    return is_heard && rendezvous.joins == 1 ? next : Successor::none;
  };
  job.worker = [&](Ports& ports) {
    world::sleep(ports, 5s);
    return rendezvous.joins == 1 ? 7 : 0;
  };
  job.start();
  job.run_for(20s);
  return restarts_told(job);
}

TEST(ChargedRestarts, what_fails_in_an_agent_that_is_cut_off_costs_the_others_no_restart) {
  const Texts lost{"rendezvous_lost", "1"};
  const Texts failed{"worker_failure", "0"};
  EXPECT_EQ(restart_behind_a_silence(12s, false, Successor::none), lost);
  EXPECT_EQ(restart_behind_a_silence(12s, true, Successor::complete), lost);
  EXPECT_EQ(restart_behind_a_silence(12s, true, Successor::none), failed) << "it is missed by none";
  EXPECT_EQ(restart_behind_a_silence(6s, false, Successor::none), failed) << "not yet, either";
}

/// What an agent makes of a group in which a member is missing, by which a node waits at the next
/// question, or none does.
Texts restart_for_one_missing(std::int64_t max_restarts, bool waits_then) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = max_restarts;
  FakeRendezvous& rendezvous = job[0].rendezvous;
  bool is_missed = false;
  rendezvous.waiting = [&, waits_then](Ports&) -> std::int64_t {
    return is_missed && waits_then && rendezvous.joins == 1 ? 1 : 0;
  };
  rendezvous.group_state = [&](Ports&) {
    is_missed = rendezvous.joins == 1 && rendezvous.looks >= 3;
    return is_missed ? GroupState::broken : GroupState::whole;
  };
  job.start();
  job.run_for(20s);
  return restarts_told(job);
}

/// It is seen between two lists, and looked for once more before that costs anything.
TEST(ChargedRestarts, a_member_that_joins_anew_is_not_lost) {
  EXPECT_EQ(restart_for_one_missing(1, true), (Texts{"membership_change", "1"}));
  EXPECT_EQ(restart_for_one_missing(0, true), (Texts{"membership_change", "0"}));
  EXPECT_EQ(restart_for_one_missing(1, false), (Texts{"member_lost", "0"}));
  EXPECT_EQ(restart_for_one_missing(0, false), Texts()) << "the job is lost";
}

/// What the count is for a, which has followed another agent's restart, when its store comes up
/// empty before the next round is formed. `begin`: at which look of a that agent has gone on.
template <class Begin>
std::string count_after_following(TestJob& job, std::size_t agents, Begin begin) {
  for (std::size_t i = 0; i < agents; ++i) {
    job[i].config.variant = Variant::hardened;
    job[i].config.max_restarts = 1;
    job[i].rendezvous.job_store = std::make_shared<MemoryStoreData>();
  }
  FakeRendezvous& rendezvous = job[0].rendezvous;
  auto& values = rendezvous.job_store->values;
  begin(rendezvous, [&values] { values["restarts"] = Value("1 1"); });
  rendezvous.join = [&](Ports& ports, std::int64_t call) {
    if (call > 0) values.clear();
    return job.round_of(ports, call + 1);
  };
  job.start();
  job.run_for(20s);
  return rendezvous.job_store->text("restarts");
}

TEST(ChargedRestarts, an_agent_that_follows_a_restart_knows_of_it_when_the_store_forgets) {
  TestJob job;
  const auto gone_on = [&](FakeRendezvous& rendezvous, auto pay) {
    rendezvous.group_state = [&rendezvous, pay](Ports&) {
      if (rendezvous.joins > 1 || rendezvous.looks < 20) return GroupState::whole;
      pay();
      return GroupState::over;
    };
  };
  EXPECT_EQ(count_after_following(job, 1, gone_on), "1 1");
  EXPECT_EQ(job.texts("group.restarting", "cause"), Texts{"rendezvous_lost"});
}

TEST(ChargedRestarts, so_does_one_that_follows_from_the_exit_barrier) {
  TestJob job(2);
  const auto waits = [&](FakeRendezvous& rendezvous, auto pay) {
    rendezvous.waiting = [&, pay](Ports&) -> std::int64_t {
      if (rendezvous.joins > 1 || job[1].rendezvous.joins < 2) return 0;
      pay();
      return 1;
    };
  };
  job.worker = [](Ports& ports) {
    const bool is_a = ports.network.host_name() == "a";
    world::sleep(ports, is_a ? 3s : 5s);
    return is_a ? 0 : 7;
  };
  EXPECT_EQ(count_after_following(job, 2, waits), "1 1");
  EXPECT_EQ(job.texts("group.restarting", "cause"), Texts{"membership_change"});
}

/// The count that a tells in a store that comes up empty. Others have made two restarts before it got
/// its seat in `round`, and the store was lost at once. `has_worked`: it was in round 0.
std::string count_after_a_seat(std::int64_t round, bool has_worked) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 3;
  FakeRendezvous& rendezvous = job[0].rendezvous;
  rendezvous.job_store = std::make_shared<MemoryStoreData>();
  auto& values = rendezvous.job_store->values;
  rendezvous.join = [&, round, has_worked](Ports& ports, std::int64_t call) {
    const std::int64_t before = has_worked ? 1 : 0;
    if (call < before) return job.round_of(ports, 0);
    if (call > before) return job.round_of(ports, round + 1);
    values["restarts"] = Value("2 0");
    rendezvous.seated(round);
    values.clear();
    throw RendezvousGroupLostError("the store's machine crashed");
  };
  rendezvous.group_state = [&](Ports&) {
    return has_worked && rendezvous.joins == 1 ? GroupState::over : GroupState::whole;
  };
  job.start();
  job.run_for(5s);
  return rendezvous.job_store->text("restarts");
}

TEST(ChargedRestarts, an_agent_that_has_a_seat_knows_them_when_the_store_goes_at_once) {
  EXPECT_EQ(count_after_a_seat(2, true), "2 0");
  EXPECT_EQ(count_after_a_seat(2, false), "2 0") << "a newcomer";
}

}  // namespace
}  // namespace hooke::model
