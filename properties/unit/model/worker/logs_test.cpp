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
using testing::ElementsAre;
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

/// "path>destination" of what is followed, with its filters after a "|".
std::vector<std::string> tails_of(const WorkerStreams& streams) {
  std::vector<std::string> out;
  for (const TailedFile& file : streams.tails) {
    std::string text = file.header + file.path + ">" + file.destination;
    for (const std::string& filter : file.filters) text += "|" + filter;
    out.push_back(text);
  }
  return out;
}

TEST(WorkerStreams, what_is_teed_is_redirected_too) {
  LogsSpec logs;
  logs.redirects = StdMap::parse("2");
  logs.tee = StdMap::parse("0:1");
  const WorkerStreams first = worker_streams(logs, 0, "/d", "[w0]:");
  EXPECT_EQ(first.stdout_path, "/d/0/stdout.log");
  EXPECT_EQ(first.stderr_path, "/d/0/stderr.log");
  EXPECT_THAT(tails_of(first), ElementsAre("[w0]:/d/0/stdout.log>/dev/stdout"));
  const WorkerStreams second = worker_streams(logs, 1, "/d", "");
  EXPECT_EQ(second.stdout_path, "") << "the agent's own";
  EXPECT_EQ(second.stderr_path, "/d/1/stderr.log");
  EXPECT_TRUE(second.tails.empty());
}

TEST(WorkerStreams, ranks_that_are_not_shown_still_write_their_files) {
  LogsSpec logs;
  logs.tee = StdMap::parse("1");
  logs.shown_ranks = {0};
  logs.stdout_filters = {"x"};
  const WorkerStreams hidden = worker_streams(logs, 1, "/d", "");
  EXPECT_EQ(hidden.stdout_path, "/d/1/stdout.log");
  EXPECT_EQ(hidden.stderr_path, "/dev/null");
  EXPECT_TRUE(hidden.tails.empty()) << "nor are its lines filtered";
  EXPECT_EQ(worker_streams(logs, 0, "/d", "").tails.size(), 2U);
}

TEST(WorkerStreams, filters_take_a_second_copy_of_what_is_teed_and_of_nothing_else) {
  LogsSpec logs;
  logs.redirects = StdMap::parse("3");
  logs.tee = StdMap::parse("0:3,1:2");
  logs.stdout_filters = {"apple", "a,b"};
  EXPECT_THAT(filtered_logs(logs, "/d"), ElementsAre("/d/filtered_stdout.log"));
  EXPECT_THAT(
      tails_of(worker_streams(logs, 0, "/d", "")),
      ElementsAre("/d/0/stdout.log>/dev/stdout", "/d/0/stdout.log>/d/filtered_stdout.log|apple|a,b",
                  "/d/0/stderr.log>/dev/stderr"));
  EXPECT_THAT(tails_of(worker_streams(logs, 1, "/d", "")),
              ElementsAre("/d/1/stderr.log>/dev/stderr"));
  logs.stderr_filters = {""};
  EXPECT_THAT(filtered_logs(logs, "/d"),
              ElementsAre("/d/filtered_stdout.log", "/d/filtered_stderr.log"));
}

TEST(TailLog, shows_lines_with_their_header_as_they_are_written) {
  world::TestWorld world;
  std::string early, late;
  world.start(world.node("n"), "agent", [&](Ports& ports) {
    TailLog tail(ports, {{"/a", "[w0]:", "/shown", {}}, {"/b", "[w1]:", "/shown", {}}});
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
    TailLog tail(ports, {{"/never", "[w0]:", "/shown", {}}});
    sleep(ports, 1s);
    tail.stop();
    return ports.files.exists("/shown") ? 1 : 0;
  });
  world.run();
  EXPECT_EQ(world.now() < 2s, true);
}

/// What a tail with `filters` makes of `text`.
std::string tailed(const std::string& text, const std::vector<std::string>& filters) {
  world::TestWorld world;
  std::string shown;
  world.start(world.node("n"), "agent", [&](Ports& ports) {
    static_cast<void>(ports.files.write("/log", text));
    TailLog tail(ports, {{"/log", ">", "/shown", filters}});
    tail.stop();
    shown = ports.files.exists("/shown") ? ports.files.read("/shown").value() : "<nothing>";
    return 0;
  });
  world.run();
  return shown;
}

TEST(TailLog, a_filter_lets_lines_pass_that_have_one_of_its_texts) {
  const std::string text = "an apple\nnothing\norange\npineapple, orange\nlast apple";
  EXPECT_EQ(tailed(text, {"apple", "orange"}),
            ">an apple\n>orange\n>pineapple, orange\n>last apple");
  EXPECT_EQ(tailed(text, {"Apple"}), "<nothing>");
  EXPECT_EQ(tailed("\n\n", {""}), ">\n>\n") << "an empty text is in every line";
}

TEST(TailLog, a_line_is_whole_wherever_the_reads_of_a_long_file_end) {
  const std::string line(1000, 'x');
  std::string text, expected;
  for (int i = 0; i < 200; ++i) {
    text += line + "\n";
    expected += ">" + line + "\n";
  }
  EXPECT_EQ(tailed(text, {}), expected);
  const std::string endless(200'000, 'y');
  EXPECT_EQ(tailed(endless, {}).size(), endless.size() + 4) << "in pieces of 64 KiB";
}

}  // namespace
}  // namespace hooke::model
