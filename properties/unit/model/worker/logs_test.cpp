// Where the output of workers goes, and how it is shown while it grows.
#include "model/worker/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/worker/tail_log.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using testing::HasSubstr;
using world::sleep;

TEST(StdMap, is_one_digit_for_all_or_pairs_for_some) {
  EXPECT_EQ(StdMap::parse("0").of(3), (Std{false, false}));
  EXPECT_EQ(StdMap::parse("1").of(0), (Std{true, false}));
  EXPECT_EQ(StdMap::parse("2").of(0), (Std{false, true}));
  EXPECT_EQ(StdMap::parse("3").of(9), (Std{true, true}));
  const StdMap some = StdMap::parse("0:3,2:1");
  EXPECT_EQ(some.of(0), (Std{true, true}));
  EXPECT_EQ(some.of(1), (Std{false, false}));
  EXPECT_EQ(some.of(2), (Std{true, false}));
}

TEST(StdMap, anything_else_is_refused_with_what_was_expected) {
  for (const char* text :
       {"", "4", "-1", "03", "0:", "0:4", "10:1", "0:1,", ",0:1", "0:1 ,1:2", "a"}) {
    try {
      static_cast<void>(StdMap::parse(text));
      ADD_FAILURE() << "\"" << text << "\" was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("expected one digit from 0 to 3, or pairs")) << text;
    }
  }
}

TEST(WorkerStreams, what_is_teed_is_redirected_too) {
  LogsSpec logs;
  logs.redirects = StdMap::parse("2");
  logs.tee = StdMap::parse("0:1");
  const WorkerStreams first = worker_streams(logs, 0, "/d");
  EXPECT_EQ(first.stdout_path, "/d/stdout.log");
  EXPECT_EQ(first.stderr_path, "/d/stderr.log");
  EXPECT_EQ(first.tee, (Std{true, false}));
  const WorkerStreams second = worker_streams(logs, 1, "/d");
  EXPECT_EQ(second.stdout_path, "") << "the agent's own";
  EXPECT_EQ(second.stderr_path, "/d/stderr.log");
}

TEST(WorkerStreams, ranks_that_are_not_shown_still_write_their_files) {
  LogsSpec logs;
  logs.tee = StdMap::parse("1");
  logs.shown_ranks = {0};
  const WorkerStreams hidden = worker_streams(logs, 1, "/d");
  EXPECT_EQ(hidden.stdout_path, "/d/stdout.log");
  EXPECT_EQ(hidden.stderr_path, "/dev/null");
  EXPECT_EQ(hidden.tee, (Std{false, false}));
  EXPECT_EQ(worker_streams(logs, 0, "/d").tee, (Std{true, false}));
}

TEST(TailLog, shows_lines_with_their_header_as_they_are_written) {
  world::TestWorld world;
  std::string early, late;
  world.start(world.node("n"), "agent", [&](Ports& ports) {
    TailLog tail(ports, {{"/a", "[w0]:", "/shown"}, {"/b", "[w1]:", "/shown"}});
    sleep(ports, 1s);  // the files are waited for
    static_cast<void>(ports.files.append("/a", "one\ntwo\n"));
    sleep(ports, 1s);
    early = ports.files.read("/shown").value();
    static_cast<void>(ports.files.append("/b", "three, in "));
    sleep(ports, 1s);
    static_cast<void>(ports.files.append("/b", "pieces\nunfinished"));
    tail.stop();  // shows what is left
    tail.stop();
    late = ports.files.read("/shown").value();
    return 0;
  });
  world.run();
  EXPECT_EQ(early, "[w0]:one\n[w0]:two\n");
  EXPECT_EQ(late, early + "[w1]:three, in [w1]:pieces\n[w1]:unfinished");
}

TEST(TailLog, a_file_that_never_comes_does_not_hold_up_the_stop) {
  world::TestWorld world;
  world.start(world.node("n"), "agent", [&](Ports& ports) {
    TailLog tail(ports, {{"/never", "[w0]:", "/shown"}});
    sleep(ports, 1s);
    tail.stop();
    return ports.files.exists("/shown") ? 1 : 0;
  });
  world.run();
  EXPECT_EQ(world.now() < 2s, true);
}

}  // namespace
}  // namespace hooke::model
