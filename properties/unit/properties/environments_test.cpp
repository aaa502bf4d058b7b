// What workers find in their environment beside what their agents say of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "event_builder.h"
#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::HasSubstr;

constexpr const char* kEnvironment = "safety.worker_environment";

/// The variables that a worker finds, in the order of the event.
using Variables = std::array<std::string, 8>;
const Variables kRight{"job",    "3 of 4", "1 of 2",         "1 of 2",
                       "3 of 4", "0 of 3", "a-ib.sim:29500", "/logs/attempt_0/1/error.json"};

/// Two workers on each of two nodes; the second agent starts the fourth of them.
Script two_agents() {
  Script script({.local_world_size = 2});
  script.agent_starts("a").agent_starts("b");
  script.emit("b", script.agent_pid("b"), ev::ranks_assigned, {"job", 0, 1, 2, 2, 4});
  return script;
}
void started(Script& script, std::int64_t pid = 500) {
  script.emit("b", script.agent_pid("b"), ev::worker_started,
              {"job", 0, pid, 1, 3, 4, 0, "a-ib.sim:29500"});
}
void found(Script& script, const Variables& told, std::int64_t pid = 500) {
  script.emit("b", pid, ev::worker_environment,
              {told[0], told[1], told[2], told[3], told[4], told[5], told[6], told[7]});
}
/// What is said of a worker that finds `told`.
std::string said_of(const Variables& told) {
  Script script = two_agents();
  started(script);
  found(script, told);
  return witnesses(script.finish(false), kEnvironment);
}
/// Likewise, where one variable differs from the right ones.
std::string said_of(std::size_t place, const std::string& value) {
  Variables told = kRight;
  told[place] = value;
  return said_of(told);
}

TEST(WorkerEnvironment, what_the_agent_has_said_is_right_whichever_tells_first) {
  Script agent_first = two_agents();
  started(agent_first);
  found(agent_first, kRight);
  EXPECT_EQ(verdict(agent_first, kEnvironment), "kept");
  Script worker_first = two_agents();
  found(worker_first, kRight);
  started(worker_first);
  EXPECT_EQ(verdict(worker_first, kEnvironment), "kept");
}

TEST(WorkerEnvironment, each_variable_that_differs_breaks_it) {
  EXPECT_THAT(said_of(0, "jab"), HasSubstr("finds run id jab, but its agent started it as job"));
  EXPECT_THAT(said_of(1, "2 of 4"), HasSubstr("finds rank 2 of 4, but its agent started it as 3"));
  EXPECT_THAT(said_of(2, "0 of 2"), HasSubstr("finds local rank 0 of 2, but its agent"));
  EXPECT_THAT(said_of(3, "1 of 4"), HasSubstr("finds group rank 1 of 4, but its agent"));
  EXPECT_THAT(said_of(5, "1 of 3"), HasSubstr("finds restart 1 of 3, but its agent"));
  EXPECT_THAT(said_of(5, "0 of 4"), HasSubstr("finds restart 0 of 4, but its agent"));
  EXPECT_THAT(said_of(6, "a.sim:29500"), HasSubstr("finds meeting point a.sim:29500, but its"));
  EXPECT_THAT(said_of(6, "?:29500"), HasSubstr("finds meeting point ?:29500, but its agent"));
}

TEST(WorkerEnvironment, the_rank_of_a_role_leaves_out_the_workers_of_other_roles) {
  EXPECT_EQ(said_of(4, "1 of 2"), "") << "two of another role are before it";
  EXPECT_THAT(said_of(4, "1 of 4"), HasSubstr("finds role rank 1 of 4, but rank 3 of 4"));
  EXPECT_THAT(said_of(4, "4 of 4"), HasSubstr("finds role rank 4 of 4"));
  EXPECT_THAT(said_of(4, "3 of 3"), HasSubstr("finds role rank 3 of 3"));
  EXPECT_THAT(said_of(4, "? of 4"), HasSubstr("finds role rank ? of 4"));
  EXPECT_THAT(said_of(4, "3"), HasSubstr("finds role rank 3,"));
}

TEST(WorkerEnvironment, no_two_living_workers_of_a_node_write_errors_to_one_file) {
  const auto said = [](const std::string& second_file, bool first_has_ended) {
    Script script = two_agents();
    started(script);
    found(script, kRight);
    if (first_has_ended) script.emit("b", 500, wev::process_ended, {1});
    Variables told = kRight;
    told[7] = second_file;
    started(script, 501);
    found(script, told, 501);
    return witnesses(script.finish(false), kEnvironment);
  };
  const std::string same = kRight[7];
  EXPECT_EQ(said("/logs/attempt_1/1/error.json", false), "");
  EXPECT_EQ(said("?", false), "");
  EXPECT_EQ(said(same, true), "");
  EXPECT_THAT(said(same, false),
              HasSubstr("workers pid 500 on node b and pid 501 on node b are both to write errors "
                        "to /logs/attempt_0/1/error.json"));
}

}  // namespace
}  // namespace hooke::properties::test
