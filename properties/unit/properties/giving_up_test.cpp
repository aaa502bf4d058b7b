// safety.gives_up_early and safety.polite_departure: what an agent owes its job when workers fail
// and when members go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "properties/unit/properties/event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Node b ends as failed after one failure, and says why it makes no restart.
std::string ends_without_restart(std::string_view reason) {
  Script script = two_nodes_at_work();
  script.at(5s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", script.agent_pid("b"), ev::restart_refused, {reason, 0});
  script.finishes("b", "failed", 1);
  return witnesses(script.finish(false), "safety.gives_up_early");
}

TEST(GivesUpEarly, that_the_restarts_are_spent_is_counted_not_believed) {
  EXPECT_THAT(ends_without_restart(ev::kRestartsSpent),
              HasSubstr("the agent on node b (pid 100) ended as failed at 5.000 s with 0 of 3 "
                        "restarts spent by itself and 0 by its job"));
}

TEST(GivesUpEarly, a_policy_may_forbid_a_restart) {
  EXPECT_THAT(ends_without_restart("worker 0 has used up its 3 attempts"), IsEmpty());
}

/// Node b goes, told to or not, and node a restarts for `cause`.
std::string restart_of_the_other(bool told_to_go, const std::string& cause) {
  Script script = two_nodes_at_work();
  script.at(5s);
  if (told_to_go) {
    script.signal_agent("b", sim::Signal::term).stops_workers("b").finishes("b", "signalled", 143);
  } else {
    script.kill_agent("b");
  }
  script.at(20s).restarts("a", cause);
  return witnesses(script.finish(false), "safety.polite_departure");
}

TEST(PoliteDeparture, is_not_charged_as_a_loss) {
  EXPECT_THAT(restart_of_the_other(true, "member_lost"),
              HasSubstr("the agent on node a (pid 100) restarts as for a loss at 20.000 s, and its "
                        "round has lost only the agent on node b (pid 100), which was told to go "
                        "at 5.000 s"));
  EXPECT_THAT(restart_of_the_other(true, "member_left"), IsEmpty());
}

TEST(PoliteDeparture, is_not_claimed_where_a_member_was_lost) {
  EXPECT_THAT(restart_of_the_other(false, "member_left"),
              HasSubstr("as for a member that was told to go, and none of its round was"));
  EXPECT_THAT(restart_of_the_other(false, "member_lost"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
