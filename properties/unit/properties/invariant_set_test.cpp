// Registration, routing, the shared view, and the cost of judging many agents.
#include "properties/invariants/invariant_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <stdexcept>

#include "event_builder.h"
#include "properties/invariants/judge.h"

namespace hooke::properties::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Counts what it is shown.
class Counter final : public Judge {
 public:
  explicit Counter(std::vector<std::string>* seen, bool everything = false)
      : Judge("safety.counter", "Counts.",
              everything ? Interests{} : Interests{&ev::rendezvous_joined}),
        seen_(seen) {}

 private:
  void judge(const sim::Event& event) override {
    seen_->emplace_back(event.type->name);
    broken(event, "node " + view().name(event.node) + " was seen");
  }
  std::vector<std::string>* seen_;
};

sim::Event event_of(const sim::EventType& type, std::span<const sim::FieldValue> fields,
                    std::uint64_t id) {
  return {sim::EventId{id},
          sim::kNoEvent,
          sim::WorldTime(1s),
          sim::WallTime{},
          sim::NodeId{0},
          sim::Pid{1},
          &type,
          fields};
}

void show_three_events(InvariantSet& set) {
  const sim::FieldValue crash[] = {"a"};
  const sim::FieldValue joined[] = {"job", "a_1_0", 0, 0, 1, "a", 1};
  const sim::FieldValue mark[] = {"cas_lost"};
  set.on_event(event_of(wev::node_crashed, crash, 1));
  set.on_event(event_of(ev::rendezvous_joined, joined, 2));
  set.on_event(event_of(ev::coverage_point, mark, 3));
}

TEST(InvariantSet, an_invariant_sees_the_types_it_is_interested_in_and_no_others) {
  std::vector<std::string> seen;
  InvariantRegistry registry;
  registry.add([&] { return std::make_unique<Counter>(&seen); });
  seen.clear();
  InvariantSet set(registry);
  show_three_events(set);
  EXPECT_THAT(seen, ElementsAre("rendezvous.joined"));
}

TEST(InvariantSet, an_invariant_without_interests_sees_everything_in_order) {
  std::vector<std::string> seen;
  InvariantRegistry registry;
  registry.add([&] { return std::make_unique<Counter>(&seen, true); });
  InvariantSet set(registry);
  show_three_events(set);
  EXPECT_THAT(seen, ElementsAre("node.crashed", "rendezvous.joined", "coverage.point"));
}

TEST(InvariantSet, an_invariant_keeps_its_first_five_violations) {
  std::vector<std::string> seen;
  InvariantRegistry registry;
  registry.add([&] { return std::make_unique<Counter>(&seen, true); });
  InvariantSet set(registry);
  const sim::FieldValue mark[] = {"cas_lost"};
  for (std::uint64_t id = 1; id <= 9; ++id) set.on_event(event_of(ev::coverage_point, mark, id));
  const auto broken = set.finish({});
  ASSERT_EQ(broken.size(), 5U);
  EXPECT_EQ(broken.front().invariant, "safety.counter");
  EXPECT_EQ(broken.front().event, sim::EventId{1});
  EXPECT_EQ(broken.front().at, sim::WorldTime(1s));
  EXPECT_EQ(broken.back().event, sim::EventId{5});
}

TEST(InvariantRegistry, an_id_is_registered_once) {
  auto registry = InvariantRegistry::with_builtins();
  std::vector<std::string> seen;
  registry.add([&] { return std::make_unique<Counter>(&seen); });
  EXPECT_THROW(registry.add([&] { return std::make_unique<Counter>(&seen); }),
               std::invalid_argument);
}

TEST(InvariantRegistry, the_builtins_are_the_invariants_of_the_design) {
  std::vector<std::string> names;
  for (const auto& invariant : InvariantRegistry::with_builtins().make_all()) {
    names.emplace_back(invariant->id());
    EXPECT_TRUE(invariant->meaning().ends_with('.')) << invariant->id();
    EXPECT_FALSE(invariant->interests().empty()) << invariant->id();
  }
  EXPECT_THAT(
      names, ElementsAre("safety.one_world", "safety.rank_sanity", "safety.env_contract",
                         "safety.worker_environment", "safety.meeting", "safety.round_monotonic",
                         "safety.round_isolation", "safety.bounds", "safety.closed_is_final",
                         "safety.eviction", "safety.close_authority", "safety.last_call",
                         "safety.kill_safety", "safety.one_worker_per_place", "safety.no_orphans",
                         "safety.timer_safety", "liveness.timer_expiry", "safety.restart_budget",
                         "safety.gives_up_early", "safety.polite_departure", "safety.first_cause",
                         "safety.no_escaped_error", "safety.exit_code_truth", "safety.settings",
                         "safety.claims_are_true", "safety.store_lifetime", "safety.bootstrap",
                         "safety.store_linearizable", "safety.polling", "liveness.loss_detection",
                         "liveness.formation", "liveness.join_timeout", "liveness.admission",
                         "liveness.free_seat", "liveness.exit", "liveness.barrier_opens",
                         "safety.exit_barrier", "liveness.failure_heard", "liveness.restart_stops",
                         "liveness.grace", "liveness.signals_take_effect", "safety.stop_signals",
                         "liveness.no_livelock", "liveness.blip_tolerance",
                         "safety.heartbeat_safety", "liveness.heartbeat_loss_seen", "liveness.core",
                         "safety.restart_policy", "safety.restart_pause", "safety.shutdown_waits"));
}

TEST(InvariantRegistry, invariants_that_are_shown_every_event_without_a_set_judge_alike) {
  // Code that drives the invariants itself gets them bound to one view.
  const auto all = InvariantRegistry::with_builtins().make_all();
  const sim::FieldValue started[] = {"job", "c10d", 1, 4, 1, 3, 0};
  const sim::FieldValue completed[] = {"job", 0, 9, 1, 4};
  for (const auto& invariant : all) invariant->on_event(event_of(ev::agent_started, started, 1));
  for (const auto& invariant : all)
    invariant->on_event(event_of(ev::rendezvous_completed, completed, 2));
  std::vector<Violation> broken;
  for (const auto& invariant : all) {
    broken.insert(broken.end(), invariant->violations().begin(), invariant->violations().end());
  }
  EXPECT_THAT(ids(broken), ElementsAre("safety.bounds"));
}

/// The example of InvariantRegistry's documentation.
class TwoRoundsAtMost final : public Judge {
 public:
  TwoRoundsAtMost()
      : Judge("safety.two_rounds_at_most", "Our jobs never need a third round.",
              {&ev::rendezvous_completed}) {}

 private:
  void judge(const sim::Event& event) override {
    if (++rounds_ == 3)
      broken(event, "node " + view().name(event.node) + " completed a third round");
  }
  int rounds_ = 0;
};

TEST(InvariantRegistry, an_invariant_of_ones_own_is_judged_with_the_builtins) {
  auto registry = InvariantRegistry::with_builtins();
  registry.add<TwoRoundsAtMost>();
  InvariantSet set(registry);
  const sim::FieldValue completed[] = {"job", 0, 9, 1, 4};
  for (std::uint64_t id = 1; id <= 3; ++id) {
    set.on_event(event_of(ev::rendezvous_completed, completed, id));
  }
  const auto broken = set.finish({});
  EXPECT_THAT(ids(broken), ElementsAre("safety.bounds", "safety.two_rounds_at_most"));
  EXPECT_THAT(witnesses(broken, "safety.two_rounds_at_most"),
              HasSubstr("node 0 completed a third round"));
}

TEST(Matches, patterns_are_exact_ids_or_prefixes_with_a_star) {
  EXPECT_TRUE(matches("safety.*", "safety.bounds"));
  EXPECT_TRUE(matches("*", "liveness.exit"));
  EXPECT_TRUE(matches("liveness.exit", "liveness.exit"));
  EXPECT_FALSE(matches("safety.*", "liveness.exit"));
  EXPECT_FALSE(matches("safety.bound", "safety.bounds"));
  EXPECT_FALSE(matches("", "safety.bounds"));
}

/// Processor time to judge the whole life of a job of `count` agents.
std::clock_t time_of(std::int64_t count) {
  AgentSettings settings;
  settings.max_nodes = count;
  Script script(settings);
  std::vector<std::string> nodes;
  for (std::int64_t i = 0; i < count; ++i) nodes.push_back("n" + std::to_string(i));
  const std::clock_t begin = std::clock();
  for (const std::string& node : nodes) script.agent_starts(node);
  script.at(1s).form(0, nodes);
  for (const std::string& node : nodes) script.restarts(node, "membership_change");
  script.at(20s).form(1, nodes).at(60s);
  for (const std::string& node : nodes) script.signal_agent(node, sim::Signal::term);
  for (const std::string& node : nodes) script.stops_workers(node).finishes(node, "signalled", 1);
  const auto broken = script.finish();
  EXPECT_THAT(ids(broken), ElementsAre("safety.bounds", "safety.claims_are_true"))
      << "the first restart is for no node that waits";
  return std::clock() - begin;
}

TEST(InvariantSet, the_cost_of_an_event_does_not_grow_with_the_number_of_agents) {
  static_cast<void>(time_of(1'000));
  const auto small = time_of(1'500);
  const auto large = time_of(24'000);
  // 16 times the agents: 16 times the time and a little for the depth of the maps. Quadratic would
  // be 256.
  EXPECT_LT(large, 64 * small) << large << " clocks against " << small;
}

}  // namespace
}  // namespace hooke::properties::test
