// hooke store: a TCPStore of its own, as PyTorch clients know it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "model/store/tcp_store.h"
#include "scenarios/cli/commands.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

int serve(std::uint16_t port) {
  real::allow_many_descriptors();
  real::RealProcess process({"hooke"});
  return process.run([port](sim::Ports& ports) {
    for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_}) {
      static_cast<void>(ports.processes.catch_signal(signal));
    }
    std::unique_ptr<model::TcpStoreServer> server;
    try {
      server = model::serve_tcp_store(ports, sim::PortNumber{port}, "stand-alone");
    } catch (const model::StoreError& error) {
      std::fprintf(stderr, "hooke store: --port: expected a free port: %s\n", error.what());
      return kBadInput;
    }
    std::printf("hooke store: serving on port %u\n", static_cast<unsigned>(server->port().value));
    std::fflush(stdout);
    while (!ports.processes.wait_signal(std::nullopt)) {
    }
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
  command->footer(
      "Example: hooke store --port 29400\nExit codes: 0 stopped by SIGTERM or SIGINT; "
      "2 the port is taken or the usage wrong.");
  command->callback([port, &exit_code] { exit_code = serve(*port); });
}

}  // namespace hooke::cli
