// Heartbeats of real workers that know nothing of hooke but the line they send.
#include <fstream>

#include "job.h"

namespace hooke::interop {
namespace {

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

}  // namespace
}  // namespace hooke::interop
