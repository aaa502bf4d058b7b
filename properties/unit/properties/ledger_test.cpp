// Which agent is hindered in what, by which fault, and for how long; obligations and the account.
#include "properties/invariants/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "properties/invariants/judge.h"

namespace hooke::properties::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

sim::WorldTime at(sim::Duration time) {
  return sim::WorldTime(time);
}

/// Agents on a, which serves the store, b and c.
Script three_nodes() {
  Script script;
  script.settings.read_timeout = 2s;
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").agent_starts("c");
  return script;
}

/// May the agent on that node ask the store at `when`?
bool can_ask(const Script& script, std::uint32_t node, sim::Duration when) {
  const Claimant who = script.view().claimant(AgentId{node});
  return script.view().ledger().find(who, kAsking, at(when), at(when)) == nullptr;
}

TEST(Ledger, a_partition_hinders_those_whose_path_to_the_store_it_cuts_and_no_others) {
  Script script = three_nodes();
  script.at(10s).fault(0, "net_partition", 10s, "b <-> a");
  EXPECT_TRUE(can_ask(script, 0, 15s)) << "the store's own machine";
  EXPECT_FALSE(can_ask(script, 1, 15s));
  EXPECT_TRUE(can_ask(script, 2, 15s));
  Script apart = three_nodes();
  apart.at(10s).fault(0, "net_partition", 10s, "b -> c");
  EXPECT_TRUE(can_ask(apart, 1, 15s)) << "the store is elsewhere";
  Script all = three_nodes();
  all.at(10s).fault(0, "net_partition", 10s, "a");
  EXPECT_TRUE(can_ask(all, 0, 15s)) << "no network cuts a machine off from itself";
  EXPECT_FALSE(can_ask(all, 2, 15s));
  Script loopback = three_nodes();
  loopback.at(10s).fault(0, "net_partition", 10s, "a <-> a");
  EXPECT_FALSE(can_ask(loopback, 0, 15s));
  EXPECT_TRUE(can_ask(loopback, 2, 15s));
}

TEST(Ledger, a_request_that_was_caught_is_late_by_the_read_time_out) {
  Script script = three_nodes();
  script.at(10s).fault(0, "service_stop", 10s);
  EXPECT_TRUE(can_ask(script, 1, 9s));
  EXPECT_FALSE(can_ask(script, 1, 10s));
  EXPECT_FALSE(can_ask(script, 1, 22s));
  EXPECT_TRUE(can_ask(script, 1, 23s));
}

TEST(Ledger, what_no_fault_brings_about_ends_with_none) {
  Script script;
  script.store_starts().agent_starts("a").at(10s).fault(-1, "etcd_late_expiry", 5s, "s");
  script.at(12s).store_dies().at(14s).held_up("a", 500ms);
  script.at(15s).fault_over(-1, "etcd_late_expiry");
  EXPECT_FALSE(can_ask(script, 0, 100s)) << "no store serves";
  EXPECT_EQ(script.view().ledger().all().back().to, at(14s + 500ms));
}

TEST(Ledger, a_pause_hinders_its_own_process_only_and_a_stranger_word_nothing) {
  Script script = three_nodes();
  script.at(10s).fault(0, "process_pause", 10s, "b pid 100").fault(1, "process_signal", 0s, "c");
  script.fault(2, "something_new");
  EXPECT_TRUE(can_ask(script, 0, 15s));
  EXPECT_FALSE(can_ask(script, 1, 15s));
  EXPECT_TRUE(can_ask(script, 2, 15s));
}

TEST(Ledger, what_a_name_does_hinders_from_the_moment_when_it_is_felt) {
  Script script = three_nodes();
  script.at(10s).fault(0, "dns_alias", 0s, "b").at(20s);
  EXPECT_TRUE(can_ask(script, 2, 19s)) << "it has changed nothing yet";
  script.fault_took_effect(0, "dns_alias");
  EXPECT_TRUE(can_ask(script, 2, 19s));
  EXPECT_FALSE(can_ask(script, 2, 20s));
}

TEST(Ledger, each_reply_that_is_lost_hinders_at_its_own_moment) {
  Script script = three_nodes();
  script.at(10s).fault(0, "service_reply_lost", 0s, "a").at(20s);
  script.fault_took_effect(0, "service_reply_lost").at(30s);
  script.fault_took_effect(0, "service_reply_lost").fault(1, "net_delay", 0s, "b <-> c");
  EXPECT_TRUE(can_ask(script, 1, 19s)) << "none is lost yet";
  EXPECT_FALSE(can_ask(script, 1, 20s));
  EXPECT_FALSE(can_ask(script, 1, 22s)) << "a request may have been caught";
  EXPECT_TRUE(can_ask(script, 1, 25s));
  EXPECT_FALSE(can_ask(script, 1, 30s));
  EXPECT_TRUE(can_ask(script, 1, 33s)) << "nothing is lost any more";
}

TEST(Ledger, without_a_store_no_agent_can_ask_until_one_serves) {
  Script script = three_nodes();
  script.at(10s).crash("a").at(30s);
  EXPECT_FALSE(can_ask(script, 1, 20s));
  script.serves_store("b", 29400);
  EXPECT_FALSE(can_ask(script, 1, 31s)) << "a request may have been caught";
  EXPECT_TRUE(can_ask(script, 1, 33s));
}

TEST(Ledger, a_deadline_begins_again_behind_each_hindrance_of_the_agent) {
  Script script = three_nodes();
  const Claimant b = script.view().claimant(AgentId{1}), c = script.view().claimant(AgentId{2});
  const auto deadline = [&](const Claimant& who) {
    return script.view().ledger().deadline(who, kAsking, at(10s), 20s);
  };
  EXPECT_EQ(deadline(b), at(30s));
  script.at(25s).fault(0, "net_partition", 30s, "b");
  EXPECT_EQ(deadline(b), at(77s)) << "25 + 30 + a caught request 2 + 20";
  EXPECT_EQ(deadline(c), at(30s));
  script.at(70s).fault(1, "net_delay", 0s, "b");
  EXPECT_EQ(deadline(b), std::nullopt) << "a delay without end is in force";
  script.at(80s).fault_over(1, "net_delay", 3s);
  EXPECT_EQ(deadline(b), at(105s)) << "80, late by 3, a caught request 2, and 20";
}

TEST(Ledger, what_lies_close_together_is_one_hindrance) {
  Script script = three_nodes();
  const Claimant b = script.view().claimant(AgentId{1});
  const auto disturbance = [&](sim::Duration when) {
    return script.view().ledger().disturbance(b, kAsking, at(when));
  };
  script.at(10s).fault(0, "net_delay", 5s, "b").at(16s).fault(1, "net_delay", 4s, "b");
  ASSERT_TRUE(disturbance(21s));
  EXPECT_EQ(disturbance(21s)->from, at(10s));
  EXPECT_EQ(disturbance(21s)->to, at(20s)) << "a caught request makes it no longer";
  EXPECT_EQ(disturbance(18s)->to, at(18s)) << "it goes on";
  EXPECT_FALSE(disturbance(23s));
  EXPECT_FALSE(disturbance(10s)) << "it has only begun";
}

TEST(Ledger, a_disturbance_ends_with_the_latest_of_those_that_overlap) {
  Script script = three_nodes();
  const Claimant b = script.view().claimant(AgentId{1});
  script.at(10s).fault(0, "net_delay", 10s, "b").at(12s).fault(1, "net_delay", 20s, "b");
  const auto found = script.view().ledger().disturbance(b, kAsking, at(33s));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from, at(10s));
  EXPECT_EQ(found->to, at(32s));
}

TEST(Ledger, what_begins_after_the_end_of_an_agent_does_not_hinder_it) {
  Script script = three_nodes();
  script.at(20s).fault(0, "net_partition", 0s, "b");
  Claimant b = script.view().claimant(AgentId{1});
  const auto is_hindered = [&] {
    return script.view().ledger().find(b, kAsking, at(0s), at(100s)) != nullptr;
  };
  EXPECT_TRUE(is_hindered());
  b.until = at(21s);
  EXPECT_TRUE(is_hindered());
  b.until = at(20s);
  EXPECT_FALSE(is_hindered());
}

TEST(Ledger, before_a_store_is_known_a_partition_hinders_the_machines_that_it_names) {
  const auto can_ask_with = [](const std::string& target, std::uint32_t node) {
    Script script;
    script.agent_starts("a").agent_starts("b").agent_starts("c");
    script.at(10s).fault(0, "net_partition", 0s, target);
    return can_ask(script, node, 15s);
  };
  EXPECT_FALSE(can_ask_with("b", 1));
  EXPECT_TRUE(can_ask_with("b", 0)) << "the other end is all machines, and it names none";
  EXPECT_FALSE(can_ask_with("a <-> b", 0));
  EXPECT_FALSE(can_ask_with("a <-> b", 1));
  EXPECT_TRUE(can_ask_with("a <-> b", 2));
  EXPECT_FALSE(can_ask_with("", 2)) << "every path";
}

/// One obligation of an agent: 10 s from its start until it finishes.
class EndsSoon final : public Judge {
 public:
  EndsSoon()
      : Judge("liveness.ends_soon", "Agents end within 10 s.",
              {&ev::agent_started, &ev::agent_finished}, kAsking) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (event.type == &ev::agent_started) return owed_.owe(id, {event.at, 10s, id});
    owed_.met(id, event);
  }
  Obligations<AgentId> owed_{*this, "a little", [](AgentId, const Due&) {
                               return std::string("an agent should have ended");
                             }};
};

Account account_of(Script& script) {
  const auto violations = script.finish(false);
  const Account account = script.accounts().at("liveness.ends_soon");
  EXPECT_EQ(
      static_cast<std::int64_t>(std::count_if(
          violations.begin(), violations.end(),
          [](const Violation& violation) { return violation.invariant == "liveness.ends_soon"; })),
      account.broken);
  return account;
}

Script ends_soon() {
  InvariantRegistry registry;
  registry.add<EndsSoon>();
  return Script({}, registry);
}

TEST(Account, tells_apart_what_was_kept_broken_put_off_excused_and_open) {
  Script script = ends_soon();
  for (const char* node : {"a", "b", "c", "d", "e"}) script.agent_starts(node);
  script.at(5s).finishes("a", "succeeded", 0);
  script.fault(0, "net_partition", 0s, "c").fault(1, "process_pause", 10s, "d pid 100");
  script.at(20s).finishes("b", "succeeded", 0).finishes("d", "succeeded", 0);
  script.agent_starts("f").at(21s);
  const Account account = account_of(script);
  EXPECT_EQ(account.kept, 2) << "a in time, d put off by its pause";
  EXPECT_EQ(account.broken, 2) << "b late, e never";
  EXPECT_EQ(account.excused, 1) << "c, for good";
  EXPECT_EQ(account.open, 1) << "f";
  EXPECT_EQ(account.put_off, 2);
  EXPECT_EQ(account.owed(), 6);
  EXPECT_EQ(account.excused_by.at("the path to the store (net_partition)"), 1);
}

TEST(Obligations, tell_what_was_owed_until_when_and_what_happened_instead) {
  Script script = ends_soon();
  script.agent_starts("a").agent_starts("b");
  script.at(20s).finishes("a", "succeeded", 0).at(30s);
  std::vector<std::string> told;
  for (const Violation& violation : script.finish(false)) told.push_back(violation.witness);
  EXPECT_THAT(told, ElementsAre("an agent should have ended by 10.000 s (a little: 10.000 s), but "
                                "did so only at 20.000 s",
                                "an agent should have ended by 10.000 s (a little: 10.000 s), but "
                                "had not when the run ended at 30.000 s"));
}

TEST(FaultEffects, name_each_kind_once) {
  for (const FaultEffect& effect : kFaultEffects) {
    EXPECT_EQ(find_effect(effect.kind), &effect) << effect.kind;
  }
  EXPECT_THAT(name_of_first(kStore), HasSubstr("store"));
}

}  // namespace
}  // namespace hooke::properties::test
