// What an agent of the legacy etcd rendezvous asks of etcd, step by step: hooke's and torchrun's.
#include "etcd_faults.h"
#include "model/rendezvous/etcd_factory.h"

namespace hooke::interop {
namespace {

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

/// "PUT active_version", "GET active_version wait" and so on, up to the making of the store.
std::vector<std::string> requests_until_store(const std::string& shown) {
  std::vector<std::string> out;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) {
    if (times(line, "refresh=") != 0) continue;  // by a thread of its own
    std::istringstream words(line);
    std::string action, method, target, form;
    words >> action >> method >> target >> form;
    if (action != "show") continue;
    std::string path = target.substr(0, target.find('?'));
    if (path.ends_with('/')) path.pop_back();
    std::string request = method + path.substr(path.rfind('/'));
    if (times(target, "wait=true") != 0) request += " wait";
    if (times(form, "dir=true") != 0) request += " dir";
    out.push_back(request);
    if (times(path, "/kv") != 0) break;
  }
  return out;
}

/// The minimum is there at once, and the last call waits for the maximum in vain.
TEST_F(EtcdFaults, a_legacy_last_call_asks_as_often_as_pytorchs) {
  std::map<Kind, std::vector<std::string>> asked;
  std::string seen;
  for_each_agent(
      [&](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
        const auto [proxy_of, port] = proxy(ports, directory, etcd, {"show 9999 /v2/keys"});
        std::vector<std::string> with = options("etcd", port);
        with.insert(with.end(), {"--nnodes=1:2", "--rdzv-conf=last_call_timeout=3"});
        const auto agent_of = agent(ports, directory, kind, with, "exit 0");
        EXPECT_EQ(agent_of->end(90s), 0) << agent_of->output();
        asked[kind] = requests_until_store(proxy_of->output());
        seen += proxy_of->output() + "\n";
      });
  ASSERT_THAT(asked[Kind::torchrun], testing::Contains("GET/active_version wait"));
  EXPECT_THAT(asked[Kind::torchrun].back(), "PUT/kv dir");
  EXPECT_EQ(asked[Kind::hooke], asked[Kind::torchrun]) << seen;
}

}  // namespace
}  // namespace hooke::interop
