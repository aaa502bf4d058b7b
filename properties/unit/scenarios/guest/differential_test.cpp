// Where the steps of two runs part, and what of requests and events is a step. No Python is needed.
#include "scenarios/guest/differential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/state/state_codec.h"
#include "model/store/base64.h"
#include "scenarios/guest/request_log.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

AgentStep step(sim::Duration at, const std::string& text, std::size_t bytes = 0) {
  return {sim::WorldTime(at), text, {}, bytes};
}

AgentSteps of_a(std::vector<AgentStep> requests, std::vector<AgentStep> decisions = {}) {
  return {{"a", {std::move(requests), std::move(decisions)}}};
}

TEST(Differential, finds_nothing_where_nothing_differs) {
  const AgentSteps steps = of_a({step(1s, "get k"), step(2s, "set k 1")}, {step(3s, "joined")});
  const Comparison found = compare(steps, steps);
  EXPECT_FALSE(found.first);
  EXPECT_EQ(found.requests, 2U);
  EXPECT_EQ(found.decisions, 1U);
}

TEST(Differential, finds_the_first_step_that_differs_and_stops_there) {
  const Comparison found =
      compare(of_a({step(1s, "get k"), step(2s, "set k 1"), step(4s, "get k")}, {step(5s, "x")}),
              of_a({step(1s, "get k"), step(2s, "set k 2"), step(4s, "get k")}, {step(5s, "y")}));
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->node, "a");
  EXPECT_EQ(found.first->number, 2U);
  EXPECT_FALSE(found.first->decision);
  EXPECT_EQ(found.first->ours->text, "set k 1");
  EXPECT_EQ(found.first->theirs->text, "set k 2");
  EXPECT_THAT(found.first->before, SizeIs(1));
  EXPECT_EQ(found.requests, 1U);
  EXPECT_EQ(found.decisions, 0U);
}

TEST(Differential, sees_what_one_of_them_leaves_out) {
  const Comparison found = compare(of_a({step(1s, "get k")}), of_a({}));
  ASSERT_TRUE(found.first);
  EXPECT_TRUE(found.first->ours);
  EXPECT_FALSE(found.first->theirs);
  EXPECT_THAT(side_by_side(*found.first), HasSubstr("PyTorch  nothing more"));
}

TEST(Differential, does_not_look_at_the_instant_at_which_a_run_is_cut) {
  const AgentSteps longer = of_a({step(1s, "get k"), step(2s, "set k 1")}, {step(2s, "joined")});
  const AgentSteps shorter = of_a({step(1s, "get k")});
  EXPECT_FALSE(compare(longer, shorter, sim::WorldTime(2s)).first);
  EXPECT_TRUE(compare(longer, shorter, sim::WorldTime(2s + 1ns)).first);
  EXPECT_EQ(compare(longer, longer, sim::WorldTime(2s)).requests, 1U);
  EXPECT_EQ(compare(longer, longer, sim::WorldTime(2s)).decisions, 0U);
}

TEST(Differential, sees_the_same_step_at_another_time_or_of_another_size) {
  EXPECT_TRUE(compare(of_a({step(1s, "get k")}), of_a({step(1s + 1ns, "get k")})).first);
  EXPECT_TRUE(compare(of_a({step(1s, "get k", 4)}), of_a({step(1s, "get k", 6)})).first);
  AgentStep earlier = step(1s, "set k");
  AgentStep later = earlier;
  earlier.times = {sim::WallTime(1s)};
  later.times = {sim::WallTime(1s + 1ns)};
  EXPECT_TRUE(compare(of_a({earlier}), of_a({later})).first);
  EXPECT_FALSE(compare(of_a({earlier}), of_a({earlier})).first);
}

TEST(RequestText, has_a_state_by_its_fields_and_its_times_apart) {
  model::RendezvousState state;
  state.round = 3;
  const model::NodeRef b(model::NodeDesc{"b", 7, 0});
  const model::NodeRef a(model::NodeDesc{"a", 7, 0});
  state.wait_list = {b, a};
  state.last_heartbeats = {{b, sim::WallTime(2s)}, {a, sim::WallTime(1s)}};
  const sim::Value pickle = model::encode_state(
      std::make_shared<const model::RendezvousState>(state), model::Variant::torch_2_x);
  model::Request request;
  request.query = model::Query::compare_set;
  request.key = "state";
  request.value = model::base64_encode(pickle);
  const RequestText text = text_of(request, model::Variant::torch_2_x);
  EXPECT_THAT(text.text, StartsWith("compare_set state {round 3"));
  EXPECT_THAT(text.text, HasSubstr("waiting [a_7_0, b_7_0]"));
  EXPECT_THAT(text.times, ::testing::ElementsAre(sim::WallTime(1s), sim::WallTime(2s)));
  EXPECT_EQ(text.bytes, request.value.size());
}

TEST(RequestText, leaves_out_what_is_drawn) {
  model::Request one, other;
  one.query = other.query = model::Query::ping;
  one.number = 1;
  other.number = 2;
  EXPECT_EQ(text_of(one, model::Variant::torch_2_x).text,
            text_of(other, model::Variant::torch_2_x).text);
}

}  // namespace
}  // namespace hooke::scenario
