// What an agent's compare-and-set has changed, told as the model's own handler would tell it.
#include "scenarios/guest/state_watch.h"

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/state/state_codec.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::scenario {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

const model::NodeRef kSelf(model::NodeDesc{"a", 100, 0});
const model::NodeRef kOther(model::NodeDesc{"b", 100, 0});

sim::Value stored(const model::RendezvousState& state) {
  return model::base64_encode(model::encode_state(
      std::make_shared<const model::RendezvousState>(state), model::Variant::torch_2_x));
}

/// A node that writes `after` where `before` stands, and is answered `answer`.
std::vector<std::string> events_of(const sim::Value& before, const model::RendezvousState& after,
                                   std::optional<sim::Value> answer = std::nullopt) {
  world::TestWorld test;
  const sim::NodeId node = test.node("a");
  test.start(node, "agent", [&](sim::Ports& ports) {
    model::RendezvousSettings settings;
    settings.run_id = "job";
    settings.min_nodes = 1;
    settings.max_nodes = 2;
    StateWatch watch(ports, settings);
    watch.call("a_100_0");
    const sim::Value desired = stored(after);
    watch.on_store({"compare_set", model::c10d_state_key("job"), before, desired,
                    answer.value_or(desired), ports.clock.monotonic_now()});
    return 0;
  });
  test.run();
  return test.events.lines;
}

model::RendezvousState with(std::vector<model::NodeRef> members, bool complete) {
  model::RendezvousState state;
  state.complete = complete;
  for (const model::NodeRef& member : members) {
    state.participants.push_back({member, 0});
    state.last_heartbeats.push_back({member, sim::WallTime(std::chrono::seconds(1'799'999'990))});
  }
  return state;
}

TEST(StateWatch, a_seat_that_completes_the_round) {
  const auto events = events_of(stored(with({kOther}, false)), with({kOther, kSelf}, true));
  EXPECT_THAT(
      events,
      Contains(StartsWith("rendezvous.write 0/100 run_id=job action=ADD_TO_PARTICIPANTS round=0")));
  EXPECT_THAT(events,
              Contains("rendezvous.added 0/100 run_id=job round=0 list=participants size=2"));
  EXPECT_THAT(events, Contains("rendezvous.completed 0/100 run_id=job round=0 participants=2 "
                               "min_nodes=1 max_nodes=2"));
}

TEST(StateWatch, the_first_state_of_all) {
  EXPECT_THAT(events_of(model::c10d_no_state(), with({kSelf}, false)),
              Contains("rendezvous.added 0/100 run_id=job round=0 list=participants size=1"));
}

TEST(StateWatch, a_dead_node_that_is_removed) {
  const auto events = events_of(stored(with({kSelf, kOther}, true)), with({kSelf}, true));
  EXPECT_THAT(events, Contains("rendezvous.evicted 0/100 run_id=job round=0 descriptor=b_100_0 "
                               "heartbeat_age=10000000000 was_participant=1"));
  EXPECT_THAT(events, Not(Contains(StartsWith("rendezvous.completed"))));
}

TEST(StateWatch, the_last_node_that_leaves_a_round_leaves_that_one) {
  model::RendezvousState next = with({}, false);
  next.round = 1;
  EXPECT_THAT(events_of(stored(with({kSelf}, true)), next),
              Contains("rendezvous.left 0/100 run_id=job round=0 participants=0"));
}

TEST(StateWatch, a_node_that_leaves_is_not_dead) {
  const auto events = events_of(stored(with({kSelf, kOther}, true)), with({kOther}, true));
  EXPECT_THAT(events, Contains("rendezvous.left 0/100 run_id=job round=0 participants=1"));
  EXPECT_THAT(events, Not(Contains(StartsWith("rendezvous.evicted"))));
}

/// One that wakes up after its own heartbeat has run out removes itself like any dead node.
TEST(StateWatch, a_node_that_takes_itself_for_dead) {
  model::RendezvousState before = with({kSelf, kOther}, true);
  before.last_heartbeats.edit(0).at -= std::chrono::seconds(30);
  const auto events = events_of(stored(before), with({kOther}, true));
  EXPECT_THAT(events, Contains("rendezvous.evicted 0/100 run_id=job round=0 descriptor=a_100_0 "
                               "heartbeat_age=40000000000 was_participant=1"));
  EXPECT_THAT(events, Contains("coverage.point 0/100 name=self_evicted"));
}

/// In the same write it takes a seat of the next round.
TEST(StateWatch, a_node_that_takes_itself_for_dead_and_joins_anew) {
  model::RendezvousState before = with({kSelf}, true);
  before.last_heartbeats.edit(0).at -= std::chrono::seconds(30);
  model::RendezvousState after = with({kSelf}, false);
  after.round = 1;
  const auto events = events_of(stored(before), after);
  EXPECT_THAT(events,
              Contains("rendezvous.added 0/100 run_id=job round=1 list=participants size=1"));
  EXPECT_THAT(events, Contains(StartsWith("rendezvous.evicted 0/100 run_id=job round=1")));
}

TEST(StateWatch, a_closed_rendezvous) {
  model::RendezvousState closed = with({kSelf}, true);
  closed.closed = true;
  EXPECT_THAT(events_of(stored(with({kSelf}, true)), closed),
              Contains("rendezvous.closed 0/100 run_id=job round=0"));
}

TEST(StateWatch, a_write_that_was_lost) {
  const sim::Value there = stored(with({kOther}, false));
  const auto events = events_of(model::c10d_no_state(), with({kSelf}, false), std::optional(there));
  EXPECT_THAT(events, Contains("coverage.point 0/100 name=cas_lost"));
  EXPECT_THAT(events, Not(Contains(StartsWith("rendezvous.write"))));
}

}  // namespace
}  // namespace hooke::scenario
