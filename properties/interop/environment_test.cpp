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

}  // namespace
}  // namespace hooke::interop
