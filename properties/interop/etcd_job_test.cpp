// Jobs of agents of both kinds whose rendezvous is on a real etcd, or in a file.
#include "job.h"
#include "model/etcd/embedded_server.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

class EtcdJob : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
    if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  }
};

std::vector<std::string> options(const std::string& backend, const std::string& endpoint,
                                 const std::string& more = "") {
  return {"--nnodes=2:4",
          "--max_restarts=20",
          "--rdzv_backend=" + backend,
          "--rdzv_endpoint=" + endpoint,
          "--rdzv_id=mixed",
          "--monitor_interval=0.1",
          "--rdzv_conf=last_call_timeout=6,keep_alive_interval=2,keep_alive_max_attempt=5" + more};
}

TEST_F(EtcdJob, of_both_kinds_is_one_world_on_v2_and_re_forms_when_a_machine_of_either_is_lost) {
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    Job job(ports, directory, model::Variant::torch_2_x,
            options("etcd-v2", "localhost:" + std::to_string(etcd.endpoint().port.value)),
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    Child& a = job.start(Kind::hooke, "a");
    Child& b = job.start(Kind::torchrun, "b");
    Child& c = job.start(Kind::hooke, "c");
    job.start(Kind::torchrun, "d");
    ASSERT_TRUE(job.becomes_one_world(4)) << a.output() << b.output();
    const json before = job.seen_by_hooke_state();
    EXPECT_EQ(before["status"], "complete") << before;
    EXPECT_EQ(before["participants"].size(), 4U) << before;
    job.lose(b);
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output();
    EXPECT_GT(job.seen_by_hooke_state()["round"], before["round"]);
    job.lose(c);
    ASSERT_TRUE(job.becomes_one_world(2)) << a.output();
    job.finish();
    etcd.stop();
  });
}

TEST_F(EtcdJob, of_both_kinds_is_one_world_on_the_legacy_backend_and_takes_a_replacement_in) {
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    Job job(
        ports, directory, model::Variant::torch_2_x,
        {"--nnodes=3:3", "--max_restarts=3", "--monitor_interval=0.5", "--rdzv_backend=etcd",
         "--rdzv_id=job", "--rdzv_endpoint=localhost:" + std::to_string(etcd.endpoint().port.value),
         "--rdzv_conf=last_call_timeout=3"});
    Child& a = job.start(Kind::hooke, "a");
    Child& b = job.start(Kind::torchrun, "b");
    job.start(Kind::hooke, "c");
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output() << b.output();
    const json seen = job.seen_by_hooke_state();
    EXPECT_EQ(seen["status"], "complete") << seen;
    EXPECT_EQ(seen["world_size"], 3) << seen;
    EXPECT_TRUE(seen["master"].is_object()) << seen;
    ASSERT_EQ(seen["participants"].size(), 3U) << seen;
    EXPECT_EQ(seen["participants"][2]["workers"]["first_rank"], 2) << seen;
    EXPECT_EQ(seen["participants"][2]["has_key"], true) << seen;
    // No agent misses it until somebody waits for a seat and finds its key expired.
    job.lose(b);
    Child& d = job.start(Kind::torchrun, "d");
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output() << d.output();
    job.finish();
    etcd.stop();
  });
}

TEST_F(EtcdJob, of_hooke_agents_is_one_world_on_v3_and_outlives_a_restart_of_etcd) {
  run([](Ports& ports, const fs::path& directory) {
    const std::string data = (directory / "etcd").string();
    auto etcd =
        std::make_unique<model::EmbeddedEtcd>(ports, model::EmbeddedEtcd::Options{{}, data, 60s});
    const sim::PortNumber port = etcd->endpoint().port;
    Job job(ports, directory, model::Variant::torch_2_x,
            options("etcd-v3", "localhost:" + std::to_string(port.value)),
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    Child& a = job.start(Kind::hooke, "a");
    Child& b = job.start(Kind::hooke, "b");
    job.start(Kind::hooke, "c");
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output();
    const json before = job.seen_by_hooke_state();
    etcd.reset();
    etcd =
        std::make_unique<model::EmbeddedEtcd>(ports, model::EmbeddedEtcd::Options{port, data, 60s});
    EXPECT_EQ(job.seen_by_hooke_state()["participants"].size(), 3U);
    job.lose(b);
    ASSERT_TRUE(job.becomes_one_world(2)) << a.output();
    EXPECT_GT(job.seen_by_hooke_state()["round"], before["round"]);
    job.finish();
    etcd->stop();
  });
}

class FileJob : public testing::Test {};

TEST_F(FileJob, of_both_kinds_is_one_world_over_a_file) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    Job job(ports, directory, model::Variant::torch_2_x,
            options("c10d", (directory / "rendezvous").string(), ",store_type=file"),
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    Child& a = job.start(Kind::hooke, "a");
    Child& b = job.start(Kind::torchrun, "b");
    Child& c = job.start(Kind::hooke, "c");
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output() << b.output();
    EXPECT_EQ(job.seen_by_hooke_state()["participants"].size(), 3U);
    job.lose(c);
    ASSERT_TRUE(job.becomes_one_world(2)) << a.output() << b.output();
    job.finish();
  });
}

}  // namespace
}  // namespace hooke::interop
