// What a user of torchrun sees of one agent, word by word: hooke's and PyTorch's.
#include <fstream>
#include <iterator>
#include <regex>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

struct Ending {
  std::optional<int> end;
  std::string output;
  std::string error_file;  ///< the agent's own
};

/// Runs an agent of either kind with these arguments, and `body` with what is seen of both.
void with_both(const std::function<std::vector<std::string>(const fs::path&)>& arguments,
               const std::map<std::string, std::string>& environment,
               const std::function<void(const Ending& hooke, const Ending& torchrun)>& body) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const auto seen = [&](const std::string& name, std::vector<std::string> argv) {
      const fs::path own = directory / name;
      fs::create_directories(own);
      for (const std::string& argument : arguments(own)) argv.push_back(argument);
      std::map<std::string, std::string> with = environment;
      with["TORCHELASTIC_ERROR_FILE"] = (own / "error.json").string();
      Child agent(ports, own, "agent", argv, with);
      Ending out;
      out.end = agent.end(90s);
      out.output = agent.output();
      std::ifstream file(own / "error.json");
      out.error_file.assign(std::istreambuf_iterator<char>(file), {});
      return out;
    };
    const Ending torchrun = seen("torchrun", {torch_python(), "-m", "torch.distributed.run"});
    body(seen("hooke", {hooke_program().string(), "agent"}), torchrun);
  });
}

std::function<std::vector<std::string>(const fs::path&)> shell(const std::string& program) {
  return [program](const fs::path&) {
    return std::vector<std::string>{"--standalone", "--no-python", "sh", "-c", program};
  };
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

TEST(SmallDifferences, the_block_of_failures_says_how_a_worker_ended_letter_by_letter) {
  for (const char* const program : {"exit 3", "kill -9 $$"}) {
    with_both(shell(program), {}, [](const Ending& hooke, const Ending& torchrun) {
      EXPECT_EQ(exit_codes_in(torchrun.output).size(), 1U) << torchrun.output;
      EXPECT_EQ(exit_codes_in(hooke.output), exit_codes_in(torchrun.output));
    });
  }
}

TEST(SmallDifferences, the_error_file_of_a_worker_is_passed_on_byte_by_byte) {
  const std::string document =
      R"({"message": {"message": "a: b, c \"d, e\"", "extraInfo": {"py_callstack": "[1,2]", "timestamp": "1"}}})";
  with_both(shell("printf '%s' '" + document + "' > $TORCHELASTIC_ERROR_FILE; exit 3"), {},
            [](const Ending& hooke, const Ending& torchrun) {
              EXPECT_THAT(torchrun.error_file, testing::HasSubstr("\"errorCode\": 3"));
              EXPECT_EQ(hooke.error_file, torchrun.error_file);
            });
}

TEST(SmallDifferences, a_shutdown_timeout_of_the_environment_may_be_negative) {
  with_both(shell("exit 0"), {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "-1"}},
            [](const Ending& hooke, const Ending& torchrun) {
              EXPECT_EQ(torchrun.end, 0) << torchrun.output;
              EXPECT_EQ(hooke.end, 0) << hooke.output;
            });
}

TEST(SmallDifferences, a_standalone_run_has_a_uuid_for_its_name) {
  const std::string hex = "[0-9a-f]";
  const testing::Matcher<std::string> names_a_run =
      testing::ContainsRegex("run is " + hex + "{8}-" + hex + "{4}-4" + hex + "{3}-[89ab]" + hex +
                             "{3}-" + hex + "{12}\n");
  with_both(shell("echo run is $TORCHELASTIC_RUN_ID"), {},
            [&](const Ending& hooke, const Ending& torchrun) {
              EXPECT_THAT(torchrun.output, names_a_run);
              EXPECT_THAT(hooke.output, names_a_run);
            });
}

}  // namespace
}  // namespace hooke::interop
