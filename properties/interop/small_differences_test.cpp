// What a user of torchrun sees of one agent, word by word: hooke's and PyTorch's.
#include <regex>

#include "one_agent.h"

namespace hooke::interop {
namespace {

std::function<OneAgent(const std::filesystem::path&)> runs(
    const std::string& program, const std::map<std::string, std::string>& environment = {}) {
  return [=](const std::filesystem::path&) { return OneAgent{shell(program), environment}; };
}

/// Lines that say how a worker ended; numbers of processes are all 7.
std::vector<std::string> exit_codes_in(const std::string& output) {
  std::vector<std::string> out;
  const std::regex pid("pid: [0-9]+");
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  exitcode  :")) out.push_back(std::regex_replace(line, pid, "pid: 7"));
  }
  return out;
}

/// Both programs put the local rank into arguments, and make one dollar of two (string.Template).
TEST(SmallDifferences, the_block_of_failures_says_how_a_worker_ended_letter_by_letter) {
  for (const char* const program : {"exit 3", "kill -9 $$$$"}) {
    with_both(runs(program), [](const Seen& hooke, const Seen& torchrun) {
      EXPECT_EQ(exit_codes_in(torchrun.output).size(), 1U) << torchrun.output;
      EXPECT_THAT(torchrun.output, testing::ContainsRegex("exitcode  : (3|-9) "));
      EXPECT_EQ(exit_codes_in(hooke.output), exit_codes_in(torchrun.output));
    });
  }
}

TEST(SmallDifferences, the_error_file_of_a_worker_is_passed_on_byte_by_byte) {
  const std::string document =
      R"({"message": {"message": "a: b, c \"d, e\"", "extraInfo": {"py_callstack": "[1,2]", "timestamp": "1"}}})";
  with_both(runs("printf '%s' '" + document + "' > $TORCHELASTIC_ERROR_FILE; exit 3"),
            [](const Seen& hooke, const Seen& torchrun) {
              EXPECT_THAT(torchrun.error_file, testing::HasSubstr("\"errorCode\": 3"));
              EXPECT_EQ(hooke.error_file, torchrun.error_file);
            });
}

TEST(SmallDifferences, a_shutdown_timeout_of_the_environment_may_be_negative) {
  with_both(runs("exit 0", {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "-1"}}),
            [](const Seen& hooke, const Seen& torchrun) {
              EXPECT_EQ(torchrun.end, 0) << torchrun.output;
              EXPECT_EQ(hooke.end, 0) << hooke.output;
            });
}

TEST(SmallDifferences, a_standalone_run_has_a_uuid_for_its_name) {
  const std::string hex = "[0-9a-f]";
  const testing::Matcher<std::string> names_a_run =
      testing::ContainsRegex("run is " + hex + "{8}-" + hex + "{4}-4" + hex + "{3}-[89ab]" + hex +
                             "{3}-" + hex + "{12}\n");
  with_both(runs("echo run is $TORCHELASTIC_RUN_ID"), [&](const Seen& hooke, const Seen& torchrun) {
    EXPECT_THAT(torchrun.output, names_a_run);
    EXPECT_THAT(hooke.output, names_a_run);
  });
}

}  // namespace
}  // namespace hooke::interop
