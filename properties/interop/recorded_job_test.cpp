// A live torchrun job, recorded from outside by hooke state --record and judged with its logs.
#include <fstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string>& telling() {
  static const std::map<std::string, std::string> variables{
      {"LOGLEVEL", "INFO"},
      {"TORCH_LOGS", "+torch.distributed.elastic.rendezvous.dynamic_rendezvous"}};
  return variables;
}

std::vector<std::string> recorded_options(std::uint16_t port) {
  return {"--nnodes=2",
          "--max_restarts=3",
          "--rdzv_backend=c10d",
          "--rdzv_endpoint=localhost:" + std::to_string(port),
          "--rdzv_id=recorded",
          "--monitor_interval=0.1",
          "--event-log-handler=console",
          "--rdzv_conf=last_call_timeout=6,keep_alive_interval=2,keep_alive_max_attempt=5"};
}

std::vector<std::string> recorder(std::uint16_t port, const fs::path& record) {
  return {
      hooke_program().string(), "state",       "--rdzv-endpoint=localhost:" + std::to_string(port),
      "--rdzv-id=recorded",     "--watch=0.2", "--record=" + record.string()};
}

/// What hooke judge --json says of these files, which ends with `code`, or with any verdict.
json judged(Ports& ports, const fs::path& directory, std::optional<int> code,
            std::vector<std::string> files) {
  files.insert(files.begin(), {hooke_program().string(), "judge", "--json"});
  Child judge(ports, directory, "judge", files);
  const std::optional<int> end = judge.end(60s);
  EXPECT_TRUE(code ? end == code : end == 0 || end == 1) << judge.output();
  return json::parse(judge.output(), nullptr, false);
}

TEST(RecordedJob, of_torchrun_agents_is_judged_by_its_logs_and_its_store) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const std::uint16_t port = free_port();
    const fs::path record = directory / "job.record";
    Job job(ports, directory, model::Variant::torch_2_x, recorded_options(port), telling());
    Child watch(ports, directory, "watch", recorder(port, record));
    job.start_host(Kind::torchrun, "a");
    job.start(Kind::torchrun, "b");
    ASSERT_TRUE(job.becomes_one_world(2));
    job.finish();
    // The store is gone with the agent that hosted it, and may be so before a look sees that the
    // rendezvous is closed: the recorder then asks until it is told to end.
    if (!watch.end(10s)) watch.signal(sim::Signal::term);
    EXPECT_EQ(watch.end(30s), 0) << watch.output();
    const std::string a = (directory / "a.log").string(), b = (directory / "b.log").string();
    const json both = judged(ports, directory, 0, {a, b, record.string()});
    EXPECT_EQ(both["jobs"][0]["outcome"], "succeeded") << both;
    EXPECT_EQ(both["rounds"], 1) << both;
    EXPECT_EQ(both["violations"].size(), 0U) << both;
    EXPECT_GT(both["not_judged"].size(), 0U) << both;
    const json alone = judged(ports, directory, 0, {record.string()});
    EXPECT_EQ(alone["rounds"], 1) << alone;
    EXPECT_EQ(alone["agents"].size(), 2U) << alone;
  });
}

/// Its machine has taken its log with it: the record alone shows when it died, and that PyTorch's
/// agents go on without it.
TEST(RecordedJob, shows_an_agent_that_was_lost_with_its_log) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const std::uint16_t port = free_port();
    const fs::path record = directory / "job.record";
    Job job(ports, directory, model::Variant::torch_2_x, recorded_options(port), telling());
    Child watch(ports, directory, "watch", recorder(port, record));
    Child& a = job.start_host(Kind::torchrun, "a");
    Child& b = job.start(Kind::torchrun, "b");
    ASSERT_TRUE(job.becomes_one_world(2));
    ports.executor.sleep_until(in(ports, 4s));
    job.lose(b);
    ports.executor.sleep_until(in(ports, 30s));
    watch.signal(sim::Signal::term);
    EXPECT_EQ(watch.end(30s), 0) << watch.output();
    // Whether a worker of a's fails for it in time is not the recorder's to decide.
    const json seen =
        judged(ports, directory, std::nullopt, {(directory / "a.log").string(), record.string()});
    const json& loss = seen["accounts"]["liveness.loss_detection"];
    EXPECT_EQ(loss["kept"].get<int>() + loss["broken"].get<int>(), 1) << seen;
    ASSERT_EQ(seen["agents"].size(), 2U) << seen;
    EXPECT_NE(seen["agents"][0]["outcome"], "killed") << seen;
    EXPECT_EQ(seen["agents"][1]["outcome"], "killed") << seen;
    job.lose(a);
  });
}

}  // namespace
}  // namespace hooke::interop
