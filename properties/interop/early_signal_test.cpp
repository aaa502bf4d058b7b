// SIGINT before the first worker: what the process that started the agent sees of it.
#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

std::optional<int> end_of_agent(Ports& ports, const fs::path& directory,
                                std::vector<std::string> argv) {
  const std::uint16_t port = free_port();
  argv.insert(argv.end(),
              {"--nnodes=2:2", "--rdzv-backend=c10d", "--rdzv-id=job",
               "--rdzv-endpoint=localhost:" + std::to_string(port), "--no-python", "true"});
  Child agent(ports, directory, "agent", argv);
  EXPECT_TRUE(eventually(ports, 60s, [&] {
    return ports.network.connect({"localhost", sim::PortNumber{port}}, in(ports, 1s)).ok();
  })) << agent.output();
  ports.executor.sleep_until(in(ports, 2s));
  agent.signal(sim::Signal::int_);
  return agent.end(60s);
}

TEST(EarlySignal, ends_an_agent_as_it_ends_torchrun) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    constexpr int kBySigint = -static_cast<int>(sim::Signal::int_);
    EXPECT_EQ(end_of_agent(ports, directory, {torch_python(), "-m", "torch.distributed.run"}),
              kBySigint);
    EXPECT_EQ(end_of_agent(ports, directory, {hooke_program().string(), "agent"}), kBySigint);
  });
}

}  // namespace
}  // namespace hooke::interop
