// hooke store: a TCPStore of its own, as PyTorch clients know it.
#include <stdlib.h>  // mkdtemp is not in std

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "model/etcd/embedded_server.h"
#include "model/store/kinds/tcp_stores.h"
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

int serve_etcd(std::uint16_t port, bool loopback) {
  real::RealProcess process({"hooke"});
  return process.run([port, loopback](sim::Ports& ports) {
    model::EmbeddedEtcd::Options options;
    options.loopback = loopback;
    options.port = sim::PortNumber{port};
    std::string directory = (std::filesystem::temp_directory_path() / "hooke-etcd-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) {
      std::fprintf(stderr, "hooke store: --etcd: %s: %s\n", directory.c_str(),
                   std::strerror(errno));
      return kBadInput;
    }
    options.data_directory = directory;
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

int serve(std::uint16_t port, model::TcpStoreLimits limits) {
  limits.refused = [](const std::string& text) {
    std::fprintf(stderr, "hooke store: %s\n", text.c_str());
  };
  real::allow_many_descriptors();
  real::RealProcess process({"hooke"});
  return process.run([port, &limits](sim::Ports& ports) {
    std::unique_ptr<model::TcpStoreServer> server;
    try {
      server = model::serve_tcp_store(ports, sim::PortNumber{port}, "stand-alone",
                                      model::PlantedSet{}, limits);
    } catch (const model::StoreError& error) {
      std::fprintf(stderr, "hooke store: --port: expected a free port: %s\n", error.what());
      return kBadInput;
    }
    announce("", server->port());
    await_end(ports);
    return kAllHeld;
  });
}

/// What is served and within which limits.
struct StoreFlags {
  std::uint16_t port = 29400;
  std::string bind = "all";
  bool etcd = false;
  model::TcpStoreLimits limits{};
};

void add_limits(CLI::App& command, model::TcpStoreLimits& limits) {
  const auto add = [&](const char* name, auto& limit, const char* help) {
    command.add_option(std::string("--limit-") + name, limit, help)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U, "AT LEAST 1"))
        ->capture_default_str()
        ->group("Limits: a client that goes beyond one loses its connection");
  };
  add("connections", limits.connections, "Connections at a time");
  add("request-bytes", limits.request_bytes, "Bytes of one request");
  add("reply-bytes", limits.reply_bytes, "Bytes of one reply, and of a value that APPEND makes");
  add("held-bytes", limits.held_bytes, "Bytes of all keys, values, queues and waits");
}

}  // namespace

void add_store(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("store", "Serve a TCPStore for PyTorch and hooke clients until a signal");
  auto flags = std::make_shared<StoreFlags>();
  command->add_option("--port", flags->port, "The port; 0: a free one")->capture_default_str();
  command
      ->add_option("--bind", flags->bind,
                   "From where it is reached: all, as PyTorch's, or loopback (this machine alone)")
      ->check(CLI::IsMember({"all", "loopback"}))
      ->capture_default_str();
  command->add_flag("--etcd", flags->etcd,
                    "Serve etcd instead, by the program of TORCHELASTIC_ETCD_BINARY_PATH or the "
                    "PATH; its data goes with it");
  add_limits(*command, flags->limits);
  command->footer(
      "Examples:\n  hooke store --port 29400\n  hooke store --etcd --port 2379\nExit codes: 0 "
      "stopped by SIGTERM or SIGINT; "
      "2 the port is taken or the usage wrong.");
  command->callback([flags, &exit_code] {
    flags->limits.loopback = flags->bind == "loopback";
    exit_code = flags->etcd ? serve_etcd(flags->port, flags->limits.loopback)
                            : serve(flags->port, flags->limits);
  });
}

}  // namespace hooke::cli
