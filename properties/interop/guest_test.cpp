// PyTorch's own agents in the simulated world.
#include <cstdlib>
#include <fstream>
#include <set>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

std::string library_file(const std::string& name) {
  return (script("").parent_path().parent_path().parent_path() / "scenarios/library" /
          (name + ".json"))
      .string();
}

/// The results of `hooke run --json` with these words.
json results(Ports& ports, const fs::path& directory, const std::string& name,
             std::vector<std::string> words, int exit_code = 0) {
  std::vector<std::string> argv{hooke_program().string(), "run", "--json"};
  argv.insert(argv.end(), words.begin(), words.end());
  Child child(ports, directory, name, argv,
              {{"TMPDIR", directory.string()}, {"HOOKE_TORCH_PYTHON", torch_python()}});
  EXPECT_EQ(child.end(300s), exit_code) << child.output();
  const json report = json::parse(child.output(), nullptr, false);
  return report.is_object() ? report["results"] : json::array();
}

#define HOOKE_NEEDS_TORCH() \
  if (torch_python().empty()) GTEST_SKIP() << "PyTorch is not available here"

/// What both draw, they draw from the same streams at the same places. What may differ is the time
/// that a few bytes more or less take on the network: a pickle of Python's refers back to some
/// texts that the model's writer repeats.
TEST(Guests, take_part_in_the_same_worlds_as_hookes_agents) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    const json all =
        results(ports, directory, "same",
                {"--once", "--worlds", "sim,pytorch", library_file("worlds/worker-killed"),
                 library_file("worlds/machine-lost"), library_file("worlds/late-joiner"),
                 library_file("worlds/two-nodes-hosted-store")});
    ASSERT_EQ(all.size(), 8U);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      for (const char* const same : {"name", "verdict", "rounds"}) {
        ASSERT_TRUE(all[i].contains(same)) << all[i].dump();
        EXPECT_EQ(all[i][same], all[i + 1][same]) << all[i]["name"] << " " << same;
      }
      constexpr std::int64_t kMicrosecond = 1'000;
      EXPECT_LT(std::abs(all[i]["world_time_ns"].get<std::int64_t>() -
                         all[i + 1]["world_time_ns"].get<std::int64_t>()),
                kMicrosecond)
          << all[i]["name"];
      EXPECT_EQ(all[i + 1]["verdict"], "passed") << all[i + 1].dump();
    }
  });
}

/// Twenty runs, from two interpreters, of which one is under load.
TEST(Guests, repeat_themselves) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    std::vector<std::string> words{"--world", "pytorch"};
    for (int i = 0; i < 5; ++i) words.push_back(library_file("worlds/worker-restart"));
    Child load(ports, directory, "load", {torch_python(), "-c", "while True: pass"});
    const json loaded = results(ports, directory, "loaded", words);
    load.signal(sim::Signal::kill);
    const json idle = results(ports, directory, "idle", words);
    std::set<std::string> hashes;
    for (const json& some : {loaded, idle}) {
      ASSERT_EQ(some.size(), 5U);
      for (const json& result : some) hashes.insert(result["hash"].get<std::string>());
    }
    EXPECT_EQ(hashes.size(), 1U);
  });
}

/// A node that is killed takes its agent along, and an agent that is paused stands still.
TEST(Guests, feel_the_faults_of_the_world) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    for (const json& result :
         results(ports, directory, "faults",
                 {"--once", "--world", "pytorch", library_file("worlds/machine-lost-and-back"),
                  library_file("worlds/paused-agent"), library_file("worlds/stopped-by-signal"),
                  library_file("worlds/short-partition"),
                  library_file("worlds/restart-budget-spent")})) {
      EXPECT_EQ(result["verdict"], "passed") << result.dump();
    }
  });
}

/// Over PyTorch's FileStore: its class is the model's, on a file of the simulated machine.
TEST(Guests, meet_over_a_file_as_hookes_agents) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    const json all = results(ports, directory, "file",
                             {"--worlds", "sim,pytorch", library_file("backends/file-two-agents"),
                              library_file("backends/file-agent-restarted")});
    ASSERT_EQ(all.size(), 4U);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      for (const char* const same : {"name", "verdict", "rounds", "world_time_ns"}) {
        EXPECT_EQ(all[i][same], all[i + 1][same]) << all[i]["name"] << " " << same;
      }
      EXPECT_EQ(all[i + 1]["verdict"], "passed") << all[i + 1].dump();
    }
  });
}

/// A torch that cannot be imported stands for a checkout: hooke says what that one says.
TEST(Guests, are_of_the_checkout_to_which_PYTHONPATH_leads) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path checkout = directory / "checkout";
    fs::create_directories(checkout / "torch");
    std::ofstream(checkout / "torch/__init__.py") << "raise RuntimeError('of the checkout')\n";
    Child hooke(ports, directory, "checkout",
                {hooke_program().string(), "run", "--world", "pytorch",
                 library_file("worlds/worker-killed")},
                {{"HOOKE_TORCH_PYTHON", torch_python()}, {"PYTHONPATH", checkout.string()}});
    EXPECT_EQ(hooke.end(300s), 2);
    EXPECT_THAT(hooke.output(), ::testing::HasSubstr("RuntimeError: of the checkout"));
  });
}

TEST(Guests, say_what_they_cannot_do) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    const json all = results(ports, directory, "cannot",
                             {"--world", "pytorch", library_file("backends/etcd-v2-happy-path")});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0]["unsupported"], "backend etcd-v2") << all[0].dump();
  });
}

TEST(Guests, leave_no_process_and_no_file_behind) {
  HOOKE_NEEDS_TORCH();
  run([&](Ports& ports, const fs::path& directory) {
    {
      Child hooke(ports, directory, "killed",
                  {hooke_program().string(), "run", "--world", "pytorch",
                   library_file("worlds/machine-lost")},
                  {{"TMPDIR", directory.string()}, {"HOOKE_TORCH_PYTHON", torch_python()}});
      EXPECT_EQ(hooke.end(300s), 0) << hooke.output();
    }
    for (const auto& entry : fs::directory_iterator(directory)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("hooke-guests"));
    }
  });
}

}  // namespace
}  // namespace hooke::interop
