// One scenario file, three worlds, one verdict; and a cluster that leaves nothing behind.
#include <csignal>
#include <fstream>
#include <set>

#include "job.h"
#include "sim/real/process_tree.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

std::string scenario(const std::string& name) {
  return (script("").parent_path().parent_path().parent_path() / "scenarios/library/worlds" /
          (name + ".json"))
      .string();
}

/// A `hooke run` with a directory for temporary files by which its processes are known.
std::unique_ptr<Child> hooke_run(Ports& ports, const fs::path& directory, const std::string& name,
                                 const std::string& worlds, const std::string& file) {
  return std::make_unique<Child>(
      ports, directory, name,
      std::vector<std::string>{hooke_program().string(), "run", "--worlds", worlds, "--json", file},
      std::map<std::string, std::string>{
          {"TMPDIR", directory.string()},
          {"HOOKE_TORCHRUN", torch_python() + " -m torch.distributed.run"}});
}

/// What differs, without the rest of a report.
std::string told(const std::string& output) {
  const json report = json::parse(output, nullptr, false);
  if (!report.is_object()) return output;
  std::string out;
  for (const json& result : report["results"]) {
    json telling;
    for (const char* key :
         {"world", "verdict", "harness_failure", "unmet", "violations", "agents"}) {
      if (result.contains(key)) telling[key] = result[key];
    }
    out += telling.dump() + "\n";
  }
  return out;
}

TEST(Worlds, simulated_hooke_and_torchrun_agents_give_the_same_verdict) {
  const std::string worlds = torch_python().empty() ? "sim,real" : "sim,real,torchrun";
  run([&](Ports& ports, const fs::path& directory) {
    std::map<std::string, std::unique_ptr<Child>> runs;
    // All at once: they spend their time waiting.
    for (const char* name : {"worker-killed", "machine-lost", "too-few-nodes", "stopped-by-signal",
                             "short-partition"}) {
      runs[name] = hooke_run(ports, directory, name, worlds, scenario(name));
    }
    for (const auto& [name, child] : runs) {
      EXPECT_EQ(child->end(300s), 0) << name << ":\n" << told(child->output());
      const json report = json::parse(child->output(), nullptr, false);
      ASSERT_TRUE(report.is_object()) << child->output();
      EXPECT_EQ(report["results"].size(), torch_python().empty() ? 2U : 3U);
      for (const json& result : report["results"]) {
        EXPECT_EQ(result["verdict"], "passed") << name;
      }
    }
    EXPECT_TRUE(real::processes_marked("TMPDIR=" + directory.string()).empty());
  });
}

/// The invariants of scenarios/library/weaknesses that a cluster of torchrun agents can judge, in
/// an order in which no more than four jobs start at once.
TEST(Worlds, the_weaknesses_of_pytorch_are_there_in_real_torchrun_agents) {
  if (torch_python().empty()) GTEST_SKIP() << "needs PyTorch 2.x: HOOKE_TORCH_PYTHON";
  using Broken = std::pair<std::string, std::vector<std::string>>;
  const std::vector<std::vector<Broken>> batches{
      {{"scale-up-ends-the-job", {"safety.close_authority"}},
       {"scale-up-splits-the-workers", {"safety.one_world", "safety.bootstrap"}},
       {"restart-meets-old-keys", {"safety.round_isolation"}},
       {"paused-agent-splits-the-job", {"safety.one_world"}}},
      {{"spare-restarts-the-job-again-and-again", {"safety.bounds"}},
       {"killed-agent-leaves-its-workers", {"safety.no_orphans", "safety.one_world"}},
       {"deaf-in-the-exit-barrier", {"liveness.signals_take_effect"}}},
      // Its spare's Python has ten seconds to start.
      {{"spare-fails-when-the-job-succeeds", {"safety.exit_code_truth"}}}};
  run([&](Ports& ports, const fs::path& directory) {
    for (const auto& batch : batches) {
      std::map<std::string, std::unique_ptr<Child>> runs;
      for (const auto& [name, invariants] : batch) {
        runs[name] =
            hooke_run(ports, directory, name, "torchrun", scenario("../weaknesses/" + name));
      }
      for (const auto& [name, invariants] : batch) {
        EXPECT_EQ(runs[name]->end(150s), 0) << name << ":\n" << told(runs[name]->output());
        const json report = json::parse(runs[name]->output(), nullptr, false);
        ASSERT_TRUE(report.is_object()) << runs[name]->output();
        std::set<std::string> broken;
        for (const json& violation : report["results"][0]["violations"]) {
          broken.insert(violation["invariant"].get<std::string>());
        }
        EXPECT_THAT(broken, testing::IsSupersetOf(invariants)) << name;
      }
    }
  });
}

TEST(Worlds, heartbeats_over_real_links_give_the_verdict_of_simulated_ones) {
  run([&](Ports& ports, const fs::path& directory) {
    std::map<std::string, std::unique_ptr<Child>> runs;
    for (const char* name : {"link-lost-mark", "link-lost-restart", "worker-hangs-restart",
                             "agent-paused", "slow-link-below-the-deadline"}) {
      runs[name] = hooke_run(ports, directory, name, "sim,real",
                             scenario("../heartbeats/" + std::string(name)));
    }
    for (const auto& [name, child] : runs) {
      EXPECT_EQ(child->end(300s), 0) << name << ":\n" << told(child->output());
    }
  });
}

TEST(Worlds, a_failure_is_seen_in_every_world) {
  run([&](Ports& ports, const fs::path& directory) {
    // Succeeds where the file says that it fails.
    const std::string file = (directory / "wrong.json").string();
    std::ofstream(file) << R"({"version": 1, "name": "wrong", "seed": 1,
      "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1}},
      "cluster": {"nodes": [{"id": "a"}]},
      "workers": {"per_node": 1, "program": [{"run": "100ms"}, {"exit": 0}]},
      "expect": {"outcome": {"a": "failed"}}})";
    const auto child = hooke_run(ports, directory, "wrong", "sim,real", file);
    EXPECT_EQ(child->end(60s), 1) << child->output();
    const json report = json::parse(child->output(), nullptr, false);
    ASSERT_TRUE(report.is_object()) << child->output();
    EXPECT_EQ(report["failed"], 2) << report;
  });
}

TEST(Worlds, what_a_world_cannot_do_is_said) {
  run([&](Ports& ports, const fs::path& directory) {
    const auto file = script("").parent_path().parent_path().parent_path() /
                      "scenarios/library/faults/disk-full.json";
    const auto child = hooke_run(ports, directory, "disk", "real", file.string());
    EXPECT_EQ(child->end(60s), 0) << child->output();
    const json report = json::parse(child->output(), nullptr, false);
    ASSERT_TRUE(report.is_object()) << child->output();
    EXPECT_EQ(report["results"][0]["verdict"], "unsupported");
    EXPECT_THAT(report["results"][0]["unsupported"].get<std::string>(),
                testing::HasSubstr("disk.full"));
  });
}

TEST(Worlds, nothing_is_left_behind_when_hooke_itself_is_killed) {
  run([&](Ports& ports, const fs::path& directory) {
    const std::string mark = "TMPDIR=" + directory.string();
    const auto child =
        hooke_run(ports, directory, "killed", "real", scenario("machine-lost-and-back"));
    // The store, three agents and their workers, hooke and its orphan_killer.
    ASSERT_TRUE(eventually(ports, 30s, [&] { return real::processes_marked(mark).size() >= 9; }))
        << child->output();
    child->signal(sim::Signal::kill);
    EXPECT_EQ(child->end(10s), -SIGKILL);
    EXPECT_TRUE(eventually(ports, 10s, [&] { return real::processes_marked(mark).empty(); }));
  });
}

}  // namespace
}  // namespace hooke::interop
