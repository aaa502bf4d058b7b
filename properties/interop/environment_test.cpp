// Workers cannot tell by which launcher they were started.
#include "job.h"

namespace hooke::interop {
namespace {

/// What must differ from run to run: names, ports and directories that are drawn.
const std::vector<std::string> kDrawn{"MASTER_PORT", "TORCHELASTIC_ERROR_FILE",
                                      "TORCHELASTIC_RUN_ID"};

json environment_given_by(Ports& ports, const std::filesystem::path& directory,
                          const std::string& name, std::vector<std::string> launcher,
                          const std::vector<std::string>& options) {
  launcher.insert(launcher.end(), options.begin(), options.end());
  launcher.push_back(script("environment.py").string());
  Child agent(ports, directory, name, launcher, {{"PYTHON_EXEC", torch_python()}});
  EXPECT_EQ(agent.end(120s), 0) << agent.output();
  const std::string text = agent.output();
  const std::size_t begin = text.find('{');
  if (begin == std::string::npos) return json::object();
  return json::parse(text.substr(begin, text.find('\n', begin) - begin));
}

TEST(WorkerEnvironment, is_that_of_torchrun) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const std::filesystem::path& directory) {
    const std::vector<std::string> options{"--standalone", "--max-restarts=2", "--role=trainer"};
    const json ours = environment_given_by(ports, directory, "hooke",
                                           {hooke_program().string(), "agent"}, options);
    const json theirs = environment_given_by(
        ports, directory, "torchrun", {torch_python(), "-m", "torch.distributed.run"}, options);
    for (const auto& [name, value] : theirs.items()) {
      ASSERT_TRUE(ours.contains(name)) << name << " is missing";
      if (std::find(kDrawn.begin(), kDrawn.end(), name) == kDrawn.end()) {
        EXPECT_EQ(ours[name], value) << name;
      }
    }
    for (const auto& [name, value] : ours.items()) {
      EXPECT_TRUE(theirs.contains(name)) << name << " is not given by torchrun";
    }
  });
}

TEST(LaunchDetection, one_script_works_under_every_launcher_and_alone) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const std::filesystem::path& directory) {
    const std::string program = script("launched.py").string();
    Child agent(ports, directory, "agent",
                {hooke_program().string(), "agent", "--standalone", "--nproc-per-node=2", program},
                {{"PYTHON_EXEC", torch_python()}});
    std::vector<std::unique_ptr<Child>> by_hand;
    const std::string port = std::to_string(free_port());
    for (const char* rank : {"0", "1"}) {
      by_hand.push_back(
          std::make_unique<Child>(ports, directory, std::string("by-hand-") + rank,
                                  std::vector<std::string>{torch_python(), program},
                                  std::map<std::string, std::string>{{"RANK", rank},
                                                                     {"WORLD_SIZE", "2"},
                                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                                     {"MASTER_PORT", port}}));
    }
    Child alone(ports, directory, "alone", {torch_python(), program});
    EXPECT_EQ(agent.end(120s), 0) << agent.output();
    for (const char* rank : {"0", "1"}) {
      const std::string said = std::string("rank ") + rank + " of 2 over gloo sum=2 after=False";
      EXPECT_THAT(agent.output(), testing::HasSubstr("launched=True " + said));
      Child& worker = *by_hand[static_cast<std::size_t>(rank[0] - '0')];
      EXPECT_EQ(worker.end(120s), 0) << worker.output();
      EXPECT_THAT(worker.output(), testing::HasSubstr("launched=False " + said));
    }
    EXPECT_EQ(alone.end(120s), 0);
    EXPECT_THAT(alone.output(), testing::HasSubstr("launched=False alone sum=1 after=False"));
  });
}

}  // namespace
}  // namespace hooke::interop
