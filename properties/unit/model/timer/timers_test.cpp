// What a worker guards with timers, whatever carries them to a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/observe/python_error.h"
#include "model/timer/kinds/timers_of_variant.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Timers, guard_what_is_done_within_a_scope) {
  world::TestWorld world;
  struct Notes final : TimerClient {
    void acquire(const std::string& scope, sim::WallTime) override { lines.push_back("+" + scope); }
    void release(const std::string& scope) override { lines.push_back("-" + scope); }
    std::vector<std::string> lines;
  };
  const auto notes = std::make_shared<Notes>();
  world.start(world.node("n"), "worker", [&](Ports& ports) {
    Timers timers(ports.clock);
    EXPECT_THROW(timers.expires(1s, [] {}), EscapedPythonError);
    timers.configure(notes);
    timers.expires(
        1s, [&] { notes->lines.emplace_back("body"); }, "named");
    EXPECT_THROW(timers.expires(
                     1s, [] { throw std::runtime_error("the step failed"); }, "failing"),
                 std::runtime_error);
    timers.expires(1s, [] {});
    return 0;
  });
  world.run();
  ASSERT_EQ(notes->lines.size(), 7U);
  EXPECT_THAT(notes->lines[5], HasSubstr("timers_test.cpp#"));
  notes->lines.resize(5);
  EXPECT_THAT(notes->lines, ElementsAre("+named", "body", "-named", "+failing", "-failing"));
}

}  // namespace
}  // namespace hooke::model
