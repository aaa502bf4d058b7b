// What an agent of the legacy etcd rendezvous asks of etcd, step by step: hooke's and torchrun's.
#include "etcd_faults.h"
#include "model/rendezvous/etcd_factory.h"

namespace hooke::interop {
namespace {

using testing::HasSubstr;

constexpr const char* kActiveVersion = "/torchelastic/p2p/run_job/rdzv/active_version";

/// The state of the job as it stands in etcd.
std::string state_in(Ports& ports, const model::EmbeddedEtcd& etcd) {
  model::RendezvousParameters parameters;
  parameters.backend = "etcd-v2";
  parameters.endpoint = "localhost:" + std::to_string(etcd.endpoint().port.value);
  return model::connect_etcd_v2(ports, parameters)->get(kActiveVersion).node.value;
}

TEST_F(EtcdFaults, a_legacy_waiter_whose_watch_etcd_ends_counts_itself_twice) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    const auto [proxy_of, port] = proxy(ports, directory, etcd, {"empty 1 GET wait=true"});
    std::vector<std::string> busy_with = options("etcd", etcd.endpoint().port.value);
    busy_with.emplace_back("--monitor-interval=90");
    const std::string other = "other";
    fs::create_directories(directory / other);
    const auto busy =
        agent(ports, directory / other, Kind::hooke, busy_with, "echo begins; exec sleep 90");
    ASSERT_TRUE(eventually(ports, 60s, [&] { return times(busy->output(), "begins\n") == 1; }))
        << busy->output();
    const auto waits = agent(ports, directory, kind, options("etcd", port), "exit 0");
    EXPECT_TRUE(
        eventually(ports, 60s,
                   [&] { return times(state_in(ports, etcd), "\"num_workers_waiting\": 2") == 1; }))
        << state_in(ports, etcd) << proxy_of->output() << waits->output();
  });
}

}  // namespace
}  // namespace hooke::interop
