// A script of --run-path that ends well, fails or exits, under torchrun and under hooke: the same
// exit code, error file and summary.
#include <fstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

/// What is left of one run that both must say alike.
struct Left {
  std::optional<int> ended;
  std::string error;      ///< the message in the error file; empty without one
  std::string callstack;  ///< from the script's own runner on: what is above is the launcher's
  std::vector<std::string> summary;
};

std::string behind_the_launcher(const std::string& callstack) {
  const std::size_t runner = callstack.find("  File \"<frozen runpy>");
  return runner == std::string::npos ? callstack : callstack.substr(runner);
}

Left left_by(Ports& ports, const fs::path& directory, const std::string& name,
             std::vector<std::string> command, const std::vector<std::string>& script) {
  const fs::path logs = directory / (name + ".logs");
  for (const char* const option :
       {"--standalone", "--run-path", "--event-log-handler=console", "--log-dir"}) {
    command.emplace_back(option);
  }
  command.push_back(logs);
  command.insert(command.end(), script.begin(), script.end());
  Child agent(ports, directory, name, command, {{"PYTHON_EXEC", torch_python()}});
  Left left;
  left.ended = agent.end(60s);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(logs)) {
    if (entry.path().filename() != "error.json") continue;
    std::ifstream file(entry.path());
    const json message = json::parse(file)["message"];
    left.error = message["message"];
    left.callstack = behind_the_launcher(message["extraInfo"]["py_callstack"]);
    EXPECT_TRUE(message["extraInfo"]["timestamp"].is_string());
  }
  EXPECT_THAT(agent.output(), testing::HasSubstr(R"(\"entry_point\": \"run_script_path\")"));
  std::istringstream lines(agent.output());
  for (std::string line; std::getline(lines, line);) {
    const bool told = line.ends_with(" FAILED") || line.starts_with("  rank ") ||
                      line.starts_with("  exitcode ") || line.starts_with("  traceback ");
    if (told) left.summary.push_back(line.substr(0, line.find(" (pid: ")));
  }
  return left;
}

TEST(RunPath, records_the_error_of_the_script_as_torchrun_does) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const fs::path script = directory / "script.py";
    std::ofstream(script) << "import sys\n"
                             "def end(how):\n"
                             "    if how == 'raise':\n"
                             "        raise ValueError('of the script')\n"
                             "    sys.exit(int(how) if how.isdigit() else how)\n"
                             "if __name__ == '__main__':\n"
                             "    end(sys.argv[1])\n";
    const std::vector<std::vector<std::string>> cases{{script, "raise"},
                                                      {script, "3"},
                                                      {script, "0"},
                                                      {script, "words"},
                                                      {directory / "missing.py"}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].back());
      const std::string which = std::to_string(i);
      const Left ours =
          left_by(ports, directory, "hooke" + which, {hooke_program().string(), "agent"}, cases[i]);
      const Left theirs = left_by(ports, directory, "torchrun" + which,
                                  {torch_python(), "-m", "torch.distributed.run"}, cases[i]);
      EXPECT_EQ(ours.ended, theirs.ended);
      EXPECT_EQ(ours.error, theirs.error);
      EXPECT_EQ(ours.callstack, theirs.callstack);
      EXPECT_EQ(ours.summary, theirs.summary);
      EXPECT_EQ(ours.error.empty(), i != 0 && i != 4);
    }
  });
}

}  // namespace
}  // namespace hooke::interop
