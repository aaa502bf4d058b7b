// Heartbeats of real workers that know nothing of hooke but the line they send.
#include <fstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

/// An agent over a rendezvous of its own whose workers beat every 200 ms, with a deadline of 2 s.
struct HeartbeatAgent {
  HeartbeatAgent(Ports& ports, const std::filesystem::path& given, const std::string& policy,
                 const std::string& restarts, std::vector<std::string> worker)
      : directory(given),
        trace(given / "trace.jsonl"),
        agent(ports, given, "agent", argv(given, policy, restarts, std::move(worker))) {}

  static std::vector<std::string> argv(const std::filesystem::path& directory,
                                       const std::string& policy, const std::string& restarts,
                                       std::vector<std::string> worker) {
    std::vector<std::string> out{hooke_program().string(),
                                 "agent",
                                 "--standalone",
                                 "--nproc-per-node=2",
                                 "--max-restarts=" + restarts,
                                 "--trace",
                                 directory / "trace.jsonl",
                                 "--heartbeat-interval=0.2",
                                 "--heartbeat-deadline=2",
                                 "--heartbeat-policy=" + policy,
                                 "--no-python",
                                 "python3",
                                 script("heartbeat_worker.py").string(),
                                 directory};
    out.insert(out.end(), worker.begin(), worker.end());
    return out;
  }
  [[nodiscard]] std::size_t told(const std::string& type) const {
    std::ifstream file(trace);
    std::size_t found = 0;
    for (std::string line; std::getline(file, line);) {
      found += line.find("\"type\":\"" + type + "\"") != std::string::npos ? 1 : 0;
    }
    return found;
  }
  [[nodiscard]] std::size_t starts() const {
    std::ifstream file(directory / "starts");
    std::size_t found = 0;
    for (std::string line; std::getline(file, line);) ++found;
    return found;
  }

  std::filesystem::path directory, trace;
  Child agent;
};

TEST(Heartbeats, of_a_python_script_keep_its_job_healthy) {
  run([](Ports& ports, const std::filesystem::path& directory) {
    HeartbeatAgent job(ports, directory, "stop", "0", {"5", "0", "0"});
    EXPECT_EQ(job.agent.end(60s), 0) << job.agent.output();
    EXPECT_GE(job.told("heartbeat.received"), 20U);
    EXPECT_EQ(job.told("heartbeat.lost"), 0U) << job.agent.output();
  });
}

TEST(Heartbeats, a_silent_script_restarts_the_workers) {
  run([](Ports& ports, const std::filesystem::path& directory) {
    HeartbeatAgent job(ports, directory, "restart", "1", {"1", "600", "1"});
    EXPECT_EQ(job.agent.end(120s), 0) << job.agent.output();
    EXPECT_EQ(job.starts(), 4U);
    EXPECT_THAT(job.agent.output(), HasSubstr("the workers restart (heartbeat_loss)"));
  });
}

TEST(Heartbeats, a_silent_script_stops_the_job) {
  run([](Ports& ports, const std::filesystem::path& directory) {
    HeartbeatAgent job(ports, directory, "stop", "9", {"1", "600", "9"});
    EXPECT_EQ(job.agent.end(120s), 1) << job.agent.output();
    EXPECT_EQ(job.starts(), 2U);
    EXPECT_THAT(job.agent.output(), HasSubstr("No heartbeat for "));
  });
}

TEST(Heartbeats, a_silent_script_is_only_marked_where_that_is_the_policy) {
  run([](Ports& ports, const std::filesystem::path& directory) {
    HeartbeatAgent job(ports, directory, "mark", "9", {"1", "6", "9"});
    EXPECT_EQ(job.agent.end(120s), 0) << job.agent.output();
    EXPECT_EQ(job.starts(), 2U);
    EXPECT_EQ(job.told("heartbeat.lost"), 2U);
    EXPECT_EQ(job.told("worker.signalled"), 0U);
  });
}

/// The latest view of the worker of this rank; null before its first.
json view_of(const fs::path& directory, int rank) {
  std::ifstream file(directory / ("seen." + std::to_string(rank)));
  json view;
  for (std::string line; std::getline(file, line);) {
    if (json read = json::parse(line, nullptr, false); read.is_object()) view = std::move(read);
  }
  return view;
}

TEST(Heartbeats, a_script_sees_which_workers_of_hookes_agents_live_beside_torchruns) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const std::string port = std::to_string(free_port());
    std::map<std::string, std::unique_ptr<Child>> agents;
    const auto start = [&](const std::string& name, const std::string& node_rank,
                           std::vector<std::string> argv, std::vector<std::string> own) {
      argv.insert(argv.end(),
                  {"--nnodes=3", "--nproc-per-node=1", "--rdzv-backend=static", "--rdzv-id=job",
                   "--node-rank=" + node_rank, "--master-addr=localhost", "--master-port=" + port});
      argv.insert(argv.end(), own.begin(), own.end());
      argv.insert(argv.end(), {script("heartbeat_peers.py").string(), directory.string(), "1"});
      agents[name] = std::make_unique<Child>(
          ports, directory, name, argv,
          std::map<std::string, std::string>{{"PYTHON_EXEC", torch_python()}});
    };
    const std::vector<std::string> beats{"--heartbeat-deadline=4", "--heartbeat-interval=0.3",
                                         "--heartbeat-peers"};
    start("a", "0", {hooke_program(), "agent"}, beats);
    start("b", "1", {hooke_program(), "agent"}, beats);
    start("c", "2", {torch_python(), "-m", "torch.distributed.run"}, {});
    const auto becomes = [&](const json& wanted) {
      return eventually(ports, 120s, [&] { return view_of(directory, 0) == wanted; });
    };
    EXPECT_TRUE(becomes(
        {{"alive", {0, 1}}, {"silent", json::array()}, {"ended", json::array()}, {"unknown", {2}}}))
        << view_of(directory, 0) << agents["a"]->output() << agents["c"]->output();
    std::ofstream(directory / "hush") << "";
    EXPECT_TRUE(
        becomes({{"alive", {0}}, {"silent", {1}}, {"ended", json::array()}, {"unknown", {2}}}))
        << view_of(directory, 0);
    std::ofstream(directory / "enough") << "";
    for (const auto& [name, agent] : agents) EXPECT_EQ(agent->end(120s), 0) << agent->output();
  });
}

}  // namespace
}  // namespace hooke::interop
