// hooke store: a TCPStore of its own, as PyTorch clients know it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "model/etcd/embedded_server.h"
#include "model/store/tcp_store.h"
#include "scenarios/cli/commands.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

void await_end(sim::Ports& ports) {
  for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_}) {
    static_cast<void>(ports.processes.catch_signal(signal));
  }
  while (!ports.processes.wait_signal(std::nullopt)) {
  }
}

void announce(const char* what, sim::PortNumber port) {
  std::printf("hooke store: serving %son port %u\n", what, static_cast<unsigned>(port.value));
  std::fflush(stdout);
}

int serve_etcd(std::uint16_t port) {
  real::RealProcess process({"hooke"});
  return process.run([port](sim::Ports& ports) {
    model::EmbeddedEtcd::Options options;
    options.port = sim::PortNumber{port};
    options.data_directory = (std::filesystem::temp_directory_path() /
                              ("hooke-etcd-" + std::to_string(ports.processes.self().value)))
                                 .string();
    try {
      model::EmbeddedEtcd etcd(ports, options);
      announce("etcd ", etcd.endpoint().port);
      await_end(ports);
      etcd.stop();
      return kAllHeld;
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "hooke store: --etcd: %s\n", error.what());
      return kBadInput;
    }
  });
}

int serve(std::uint16_t port) {
  real::allow_many_descriptors();
  real::RealProcess process({"hooke"});
  return process.run([port](sim::Ports& ports) {
    std::unique_ptr<model::TcpStoreServer> server;
    try {
      server = model::serve_tcp_store(ports, sim::PortNumber{port}, "stand-alone");
    } catch (const model::StoreError& error) {
      std::fprintf(stderr, "hooke store: --port: expected a free port: %s\n", error.what());
      return kBadInput;
    }
    announce("", server->port());
    await_end(ports);
    return kAllHeld;
  });
}

}  // namespace

void add_store(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("store", "Serve a TCPStore for PyTorch and hooke clients until a signal");
  auto port = std::make_shared<std::uint16_t>(29400);
  command->add_option("--port", *port, "Port on all interfaces; 0: a free one")
      ->capture_default_str();
  auto etcd = std::make_shared<bool>(false);
  command->add_flag("--etcd", *etcd,
                    "Serve etcd instead, by the program of TORCHELASTIC_ETCD_BINARY_PATH or the "
                    "PATH; its data goes with it");
  command->footer(
      "Examples:\n  hooke store --port 29400\n  hooke store --etcd --port 2379\nExit codes: 0 "
      "stopped by SIGTERM or SIGINT; "
      "2 the port is taken or the usage wrong.");
  command->callback(
      [port, etcd, &exit_code] { exit_code = *etcd ? serve_etcd(*port) : serve(*port); });
}

}  // namespace hooke::cli
