// What agents make of an etcd that refuses, loses answers or stands still: hooke's and torchrun's,
// in the same situation.
#include "job.h"
#include "model/etcd/embedded_server.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The agents that are compared, by name.
const std::vector<std::pair<std::string, Kind>> kAgents{{"hooke", Kind::hooke},
                                                        {"torchrun", Kind::torchrun}};

class EtcdFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
    if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  }

  /// A proxy before etcd with these rules (etcd_proxy.py), and its port.
  static std::pair<std::unique_ptr<Child>, std::uint16_t> proxy(
      Ports& ports, const fs::path& directory, const model::EmbeddedEtcd& etcd,
      const std::vector<std::string>& rules) {
    const std::uint16_t port = free_port();
    std::vector<std::string> argv{torch_python(), script("etcd_proxy.py").string(),
                                  std::to_string(port), std::to_string(etcd.endpoint().port.value)};
    argv.insert(argv.end(), rules.begin(), rules.end());
    auto child = std::make_unique<Child>(ports, directory, "proxy", argv);
    EXPECT_TRUE(eventually(ports, 30s, [&] {
      return ports.network.connect({"localhost", sim::PortNumber{port}}, in(ports, 1s)).ok();
    })) << child->output();
    return {std::move(child), port};
  }

  /// An agent of that kind, alone in its job.
  static std::unique_ptr<Child> agent(Ports& ports, const fs::path& directory, Kind kind,
                                      std::vector<std::string> options,
                                      const std::string& program) {
    std::vector<std::string> argv =
        kind == Kind::hooke
            ? std::vector{hooke_program().string(), std::string("agent")}
            : std::vector{torch_python(), std::string("-m"), std::string("torch.distributed.run")};
    argv.insert(argv.end(), options.begin(), options.end());
    for (const std::string& part :
         {std::string("--no-python"), std::string("sh"), std::string("-c"), program}) {
      argv.push_back(part);
    }
    return std::make_unique<Child>(ports, directory, "agent", argv);
  }

  static std::vector<std::string> options(const std::string& backend, std::uint16_t port) {
    return {"--nnodes=1:1", "--rdzv-backend=" + backend, "--rdzv-id=job",
            "--rdzv-endpoint=localhost:" + std::to_string(port)};
  }
};

/// Runs `body` for each kind of agent beside an etcd of its own.
void for_each_agent(
    const std::function<void(Ports&, model::EmbeddedEtcd&, const fs::path&, Kind)>& body) {
  run([&](Ports& ports, const fs::path& directory) {
    for (const auto& [name, kind] : kAgents) {
      SCOPED_TRACE(name);
      const fs::path own = directory / name;
      fs::create_directories(own);
      model::EmbeddedEtcd etcd(ports, {{}, (own / "etcd").string(), 60s});
      body(ports, etcd, own, kind);
      etcd.stop();
    }
  });
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_F(EtcdFaults, an_election_while_a_legacy_version_is_counted_is_waited_out) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    const auto [proxy_of, port] =
        proxy(ports, directory, etcd, {"refuse 2 PUT version_counter prevIndex"});
    const auto agent_of = agent(ports, directory, kind, options("etcd", port), "exit 0");
    EXPECT_EQ(agent_of->end(90s), 0) << agent_of->output();
    EXPECT_EQ(times(proxy_of->output(), "refuse PUT"), 2U) << proxy_of->output();
  });
}

/// Its worker fails, and the version that follows is open for eight seconds: there the agent is
/// told to go. It takes that for an attempt that failed, and starts its worker again.
TEST_F(EtcdFaults, a_signal_in_the_legacy_barrier_is_swallowed) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    std::vector<std::string> with = options("etcd", etcd.endpoint().port.value);
    with.insert(with.end(), {"--nnodes=1:2", "--max-restarts=1", "--monitor-interval=0.2",
                             "--rdzv-conf=last_call_timeout=8"});
    const auto agent_of = agent(ports, directory, kind, with,
                                "echo begins $TORCHELASTIC_RESTART_COUNT; "
                                "test $TORCHELASTIC_RESTART_COUNT = 1 || { sleep 1; exit 1; }");
    const auto begun = [&] { return times(agent_of->output(), "begins 0\n") == 1; };
    ASSERT_TRUE(eventually(ports, 60s, begun)) << agent_of->output();
    ports.executor.sleep_until(in(ports, 5s));
    agent_of->signal(sim::Signal::term);
    EXPECT_EQ(agent_of->end(60s), 0) << agent_of->output();
    EXPECT_EQ(times(agent_of->output(), "begins 1\n"), 1U) << agent_of->output();
  });
}

/// The first of two agents to be done waits in the exit barrier for the other one, and is told to
/// go.
TEST_F(EtcdFaults, a_signal_in_the_exit_barrier_over_etcd_is_heard) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    std::vector<std::string> with = options("etcd-v2", etcd.endpoint().port.value);
    with.front() = "--nnodes=2:2";
    const std::string other = "other";
    fs::create_directories(directory / other);
    const auto works = agent(ports, directory / other, Kind::hooke, with, "sleep 60");
    const auto done = agent(ports, directory, kind, with, "echo is done");
    ASSERT_TRUE(eventually(ports, 60s, [&] { return times(done->output(), "is done\n") == 1; }))
        << done->output() << works->output();
    ports.executor.sleep_until(in(ports, 4s));
    done->signal(sim::Signal::term);
    EXPECT_EQ(done->end(15s), 1) << "it goes on waiting\n" << done->output();
    EXPECT_FALSE(works->end(0s)) << works->output();
  });
}

}  // namespace
}  // namespace hooke::interop
