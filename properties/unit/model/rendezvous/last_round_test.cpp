// The last round that 63 bits count.
#include <gtest/gtest.h>

#include <limits>

#include "model/rendezvous/dynamic/decisions.h"

namespace hooke::model {
namespace {

TEST(LastRound, is_followed_by_an_error_and_not_by_a_negative_one) {
  const RendezvousSettings settings;
  const Decisions decisions(settings);
  const NodeRef node({"a", 1, 0});
  const sim::WallTime now{};
  RendezvousState state;
  state.round = std::numeric_limits<std::int64_t>::max();
  decisions.apply(Action::add_to_participants, state, node, now);
  decisions.apply(Action::mark_rendezvous_complete, state, node, now);
  try {
    decisions.apply(Action::remove_from_participants, state, node, now);
    ADD_FAILURE() << "round " << state.round;
  } catch (const EscapedPythonError& error) {
    EXPECT_STREQ(error.class_name(), "OverflowError");
  }
  EXPECT_EQ(state.round, std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(round_after(state.round), EscapedPythonError);
  EXPECT_EQ(round_after(state.round - 1), state.round);
}

}  // namespace
}  // namespace hooke::model
