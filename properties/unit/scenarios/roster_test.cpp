// What is where, from events by hand.
#include "scenarios/outcome/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <span>

#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr sim::NodeId kMachine{0};

/// A roster that is told what the processes of one node do.
class Told {
 public:
  /// The agent `agent` has started the worker `pid` for `round`.
  void worker(std::int32_t agent, std::int32_t pid, std::int64_t local_rank, std::int64_t round) {
    tell(agent, ev::worker_started, {"job", round, pid, local_rank, 0, 1, 0, "a:29400"});
  }
  void ends(std::int32_t pid) { tell(pid, wev::process_ended, {0}); }

  Roster roster;

 private:
  void tell(std::int32_t pid, const sim::EventType& type,
            std::initializer_list<sim::FieldValue> fields) {
    const std::span all(fields.begin(), fields.size());
    roster.on_event({{}, sim::kNoEvent, {}, {}, kMachine, sim::Pid{pid}, &type, all});
  }
};

TEST(Roster, two_agents_of_a_node_have_a_worker_of_one_local_rank_each) {
  Told told;
  told.worker(100, 102, 0, -1);
  told.worker(101, 103, 0, 4);
  EXPECT_EQ(told.roster.round_of(kMachine, sim::Pid{102}), -1);
  EXPECT_EQ(told.roster.round_of(kMachine, sim::Pid{103}), 4);
  EXPECT_THAT(told.roster.workers(kMachine, 0), ElementsAre(sim::Pid{103})) << "the latest one";
}

TEST(Roster, a_worker_is_there_until_it_ends_whatever_was_started_in_its_place) {
  Told told;
  told.worker(100, 102, 0, 1);
  told.worker(100, 103, 1, 1);
  told.worker(100, 104, 0, 2);
  told.ends(104);
  EXPECT_EQ(told.roster.round_of(kMachine, sim::Pid{104}), std::nullopt);
  EXPECT_THAT(told.roster.workers(kMachine, std::nullopt),
              ElementsAre(sim::Pid{102}, sim::Pid{103}));
  told.ends(102);
  EXPECT_THAT(told.roster.workers(kMachine, 0), IsEmpty());
  EXPECT_THAT(told.roster.workers(kMachine, std::nullopt), ElementsAre(sim::Pid{103}));
}

TEST(Roster, of_a_worker_that_no_agent_has_announced_the_round_is_unknown) {
  EXPECT_EQ(Told().roster.round_of(kMachine, sim::Pid{102}), std::nullopt);
}

}  // namespace
}  // namespace hooke::scenario
