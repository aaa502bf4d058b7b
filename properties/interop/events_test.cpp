// The events of a hooke agent beside those of torchrun: same names, members and values, in the same
// order.
#include <fstream>
#include <regex>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

/// What two runs of one job may say differently: numbers of processes, spans, names drawn.
std::vector<json> events_of(const std::string& output) {
  std::vector<json> events;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    json event = json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("metadata")) continue;
    json& metadata = event["metadata"];
    metadata["run_id"] = "some";
    metadata["total_run_time"] = "some";
    if (!metadata["duration_ms"].is_null()) metadata["duration_ms"] = "some";
    if (!metadata["worker_id"].is_null()) metadata["worker_id"] = "some";
    metadata["metadata"] = json::parse(std::regex_replace(metadata["metadata"].get<std::string>(),
                                                          std::regex(R"("worker_pid": \[[0-9]+\])"),
                                                          R"("worker_pid": ["some"])"));
    if (!metadata["raw_error"].is_null()) {
      json error = json::parse(metadata["raw_error"].get<std::string>());
      // PyTorch puts them into one constant: once one failure has them, all later ones of the
      // process do, those by signals among them. Each of hooke's failures has its own.
      error.erase("errorTraits");
      metadata["raw_error"] = error;
    }
    events.push_back(std::move(event));
  }
  return events;
}

/// Runs the same command under both, which end with `code`; the events of hooke's agent, which are
/// those of torchrun.
std::vector<json> events_of_both(Ports& ports, const fs::path& directory, int code,
                                 std::vector<std::string> options,
                                 std::map<std::string, std::string> environment = {}) {
  options.insert(options.begin(), "--event-log-handler=console");
  environment["PYTHON_EXEC"] = torch_python();
  std::vector<std::string> hooke{hooke_program().string(), "agent"};
  std::vector<std::string> torchrun{torch_python(), "-m", "torch.distributed.run"};
  hooke.insert(hooke.end(), options.begin(), options.end());
  torchrun.insert(torchrun.end(), options.begin(), options.end());
  Child ours(ports, directory, "hooke", hooke, environment);
  EXPECT_EQ(ours.end(60s), code) << ours.output();
  Child theirs(ports, directory, "torchrun", torchrun, environment);
  EXPECT_EQ(theirs.end(60s), code) << theirs.output();
  std::vector<json> events = events_of(ours.output());
  EXPECT_EQ(events, events_of(theirs.output()));
  return events;
}

TEST(Events, are_those_of_torchrun) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path fails = directory / "fails.py";
    std::ofstream(fails) << "import os, sys, time\n"
                            "if os.environ['RANK'] == '1': time.sleep(0.5); sys.exit(3)\n"
                            "time.sleep(30)\n";
    const auto events = events_of_both(ports, directory, 1,
                                       {"--max-restarts=1", "--nproc-per-node=2", fails.string()});
    EXPECT_EQ(events.size(), 11U);
  });
}

/// Its workers were terminated, and no restart is left.
TEST(Events, of_a_group_with_a_worker_asleep_in_the_kernel_are_those_of_torchrun) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const auto events =
        events_of_both(ports, directory, 0, {"--max-restarts=3", script("asleep.py").string()},
                       {{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", "1.5"}});
    ASSERT_GE(events.size(), 2U);
    const json& worker = events[events.size() - 2];
    EXPECT_EQ(worker["metadata"]["state"], "TERMINATED") << worker;
    EXPECT_EQ(worker["metadata"]["agent_restarts"], 3) << worker;
  });
}

/// PyTorch tells "dynamic_rendezvous" of the rendezvous, whatever --event-log-handler says, and
/// what is there drops it: only a Python program can put another handler in its place.
TEST(Events, of_the_rendezvous_are_shown_by_neither) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path ends = directory / "ends.py";
    std::ofstream(ends) << "";
    for (const std::string destination : {"console", "dynamic_rendezvous"}) {
      const auto shown = [&](const std::string& name, std::vector<std::string> command) {
        command.insert(command.end(), {"--event-log-handler", destination, "--standalone", ends});
        Child agent(ports, directory, name + destination, command,
                    {{"PYTHON_EXEC", torch_python()}});
        EXPECT_EQ(agent.end(60s), 0) << agent.output();
        EXPECT_THAT(agent.output(), testing::Not(testing::HasSubstr("\"node_state\"")));
        return events_of(agent.output()).size();
      };
      const std::size_t events = destination == "console" ? 5 : 0;
      EXPECT_EQ(shown("hooke", {hooke_program().string(), "agent"}), events);
      EXPECT_EQ(shown("torchrun", {torch_python(), "-m", "torch.distributed.run"}), events);
    }
  });
}

}  // namespace
}  // namespace hooke::interop
