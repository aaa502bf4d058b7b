#pragma once
// An etcd that refuses, loses answers or stands still, with agents of both kinds before it.

#include "job.h"
#include "model/etcd/embedded_server.h"

namespace hooke::interop {

namespace fs = std::filesystem;

/// The agents that are compared, by name.
inline const std::vector<std::pair<std::string, Kind>> kAgents{{"hooke", Kind::hooke},
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
inline void for_each_agent(
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

inline std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace hooke::interop
