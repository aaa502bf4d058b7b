// What is told of a failed job.
#include "model/worker/failure_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using nlohmann::json;

ProcessFailure failure(std::int64_t rank, int exit_code, std::int64_t timestamp) {
  ProcessFailure out;
  out.local_rank = out.rank = rank;
  out.pid = sim::Pid{static_cast<std::int32_t>(4242 + rank)};
  out.exit_code = exit_code;
  out.error_file = "<N/A>";
  out.timestamp = timestamp;
  out.message = "Signal 11 (SIGSEGV) received by PID 4242";
  return out;
}

ProcessFailure with_file(ProcessFailure out, const json& document) {
  out.error_file = "/logs/error.json";
  out.error_data = document.dump();
  return out;
}

TEST(FailureSummary, names_the_root_cause_last_and_the_others_before) {
  EXPECT_EQ(failure_summary("train.py", {failure(1, -15, 1925089446), failure(0, -11, 1925089445)},
                            "node7.example.org"),
            R"(
======================================================
train.py FAILED
------------------------------------------------------
Failures:
[0]:
  time      : 2031-01-02_03:04:06Z
  host      : node7.example.org
  rank      : 1 (local_rank: 1)
  exitcode  : -15 (pid: 4243)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 4242
------------------------------------------------------
Root Cause (first observed failure):
[1]:
  time      : 2031-01-02_03:04:05Z
  host      : node7.example.org
  rank      : 0 (local_rank: 0)
  exitcode  : -11 (pid: 4242)  (SIGSEGV)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 4242
======================================================
)");
}

TEST(FailureSummary, knows_signals_that_the_protocol_does_not_use) {
  EXPECT_EQ(signal_name(6), "SIGABRT");
  EXPECT_EQ(signal_name(7), "SIGBUS");
  EXPECT_EQ(signal_name(11), "SIGSEGV");
  EXPECT_EQ(signal_name(31), "SIGSYS");
  for (const int none : {0, -1, 32, 64}) EXPECT_EQ(signal_name(none), "<N/A>");
}

TEST(FailureSummary, is_as_wide_as_its_longest_line_and_says_when_there_are_no_others) {
  ProcessFailure alone = failure(0, 1, 0);
  alone.message = "x";
  EXPECT_EQ(failure_summary("t", {alone}, "h"), R"(
==================================
t FAILED
----------------------------------
Failures:
  <NO_OTHER_FAILURES>
----------------------------------
Root Cause (first observed failure):
[0]:
  time      : 1970-01-01_00:00:00Z
  host      : h
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 4242) 
  error_file: <N/A>
  traceback : x
==================================
)");
}

TEST(FailureSummary, shows_the_workers_own_traceback) {
  const ProcessFailure told = with_file(
      failure(0, 1, 0),
      {{"message",
        {{"message", "ValueError: no"}, {"extraInfo", {{"py_callstack", "File a\nFile b"}}}}}});
  EXPECT_THAT(failure_summary("t", {told}, "h"),
              testing::HasSubstr("  traceback : File a\n  File b\n"));
}

TEST(FailureSummary, a_command_is_called_by_its_script) {
  EXPECT_EQ(entry_point_name({"/usr/bin/python3", "-u", "-m", "train", "x"}), "train");
  EXPECT_EQ(entry_point_name({"./run.sh", "-x"}), "./run.sh");
  EXPECT_EQ(entry_point_name({"python"}), "");
}

class ErrorFiles : public testing::Test {
 protected:
  /// What is in the agent's own error file afterwards; "<none>" when there is none.
  std::string after(const std::function<void(sim::Ports&)>& body,
                    const std::string& own = "/error.json") {
    std::string found = "<none>";
    world_.world->register_program("agent", [&](sim::Ports& ports) {
      body(ports);
      if (const auto text = ports.files.read("/error.json")) found = text.value();
      return 0;
    });
    EXPECT_TRUE(
        world_.world
            ->start(world_.node("n"), {{"agent"}, {{"TORCHELASTIC_ERROR_FILE", own}}, true, {}, {}})
            .ok());
    world_.run();
    return found;
  }
  world::TestWorld world_;
};

TEST_F(ErrorFiles, the_root_causes_is_passed_on_with_its_exit_code) {
  const json document{{"message", {{"message", "no"}, {"extraInfo", {{"timestamp", "5"}}}}}};
  const std::string text = after(
      [&](sim::Ports& ports) { pass_on_error_file(ports, with_file(failure(0, 3, 5), document)); });
  json expected = document;
  expected["message"]["errorCode"] = 3;
  EXPECT_EQ(json::parse(text), expected);
}

TEST_F(ErrorFiles, without_a_file_of_the_worker_nothing_is_written) {
  EXPECT_EQ(after([](sim::Ports& ports) { pass_on_error_file(ports, failure(0, 3, 5)); }),
            "<none>");
}

TEST_F(ErrorFiles, an_error_of_the_agent_itself_is_recorded) {
  const json record =
      json::parse(after([](sim::Ports& ports) { record_error(ports, "ValueError: no"); }));
  EXPECT_EQ(record["message"]["message"], "ValueError: no");
  EXPECT_TRUE(record["message"]["extraInfo"]["timestamp"].is_string());
}

TEST_F(ErrorFiles, without_a_name_nothing_is_written) {
  EXPECT_EQ(after([](sim::Ports& ports) { record_error(ports, "no"); }, ""), "<none>");
}

}  // namespace
}  // namespace hooke::model
