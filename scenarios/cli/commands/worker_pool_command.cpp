// hooke worker-pool: slots for the workers of agents that lease them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "model/worker/worker_pool.h"
#include "scenarios/cli/commands.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

struct WorkerPoolOptions {
  std::uint16_t port = model::kWorkerPoolPort;
  std::int64_t slots = 0;
};

int serve(const WorkerPoolOptions& options) {
  real::RealProcess process({"hooke"});
  return process.run([&](sim::Ports& ports) {
    for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_})
      static_cast<void>(ports.processes.catch_signal(signal));
    std::unique_ptr<model::WorkerPool> pool;
    try {
      pool =
          std::make_unique<model::WorkerPool>(ports, sim::PortNumber{options.port}, options.slots);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "hooke worker-pool: --port: %s\n", error.what());
      return kBadInput;
    }
    std::printf("hooke worker-pool: %lld slots on port %u\n", static_cast<long long>(options.slots),
                static_cast<unsigned>(pool->port().value));
    std::fflush(stdout);
    pool->run();
    return kAllHeld;
  });
}

}  // namespace

void add_worker_pool(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "worker-pool", "Start workers for agents of this machine, and end them with their agent");
  auto options = std::make_shared<WorkerPoolOptions>();
  command->add_option("--port", options->port, "Port of this machine; 0: any")
      ->capture_default_str();
  command->add_option("--slots", options->slots, "Workers at a time, of all agents together")
      ->check(CLI::Range(1, 65'536))
      ->required();
  command->footer(
      "Only this machine is served. Example: hooke worker-pool --slots 8, and for the agents: "
      "hooke agent "
      "--process-launcher pool …\nExit codes: 0 stopped by SIGTERM or SIGINT; 2 the port is taken "
      "or the usage wrong.");
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

}  // namespace hooke::cli
