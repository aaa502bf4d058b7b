// hooke bench node: one node of a measured rendezvous. Started by reports/bench/agents, which also
// starts PyTorch's counterpart (rendezvous_node.py): both are told by files when to join.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "model/rendezvous/registry.h"
#include "scenarios/cli/commands.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

using namespace std::chrono_literals;

struct BenchNodeOptions {
  std::string endpoint, directory;
  std::int64_t nodes = 1, number = 0;
};

int join(sim::Ports& ports, const BenchNodeOptions& options) {
  model::RendezvousParameters parameters;
  parameters.backend = "c10d";
  parameters.endpoint = options.endpoint;
  parameters.run_id = "bench";
  parameters.min_nodes = parameters.max_nodes = options.nodes;
  parameters.local_addr = "localhost";
  parameters.config["is_host"] = "0";
  const auto handler = model::RendezvousRegistry::with_builtins().create(ports, parameters);
  const std::string own = options.directory + "/" + std::to_string(options.number);
  static_cast<void>(ports.files.write(own + ".ready", ""));
  while (!ports.files.exists(options.directory + "/go")) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + 1ms);
  }
  const sim::MonotonicTime begin = ports.clock.monotonic_now();
  static_cast<void>(handler->next_rendezvous());
  const sim::Duration span = ports.clock.monotonic_now() - begin;
  static_cast<void>(ports.files.write(own + ".part", std::to_string(span.count())));
  static_cast<void>(ports.files.rename(own + ".part", own + ".in"));
  // Rank 0 serves the workers' store: it stays until everybody has read its address.
  while (!ports.files.exists(options.directory + "/end")) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + 10ms);
  }
  return kAllHeld;
}

}  // namespace

void add_bench_node(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<BenchNodeOptions>();
  CLI::App* command = bench.add_subcommand("node", "One node of a measured rendezvous");
  command->group("");  // reports/bench/agents calls it
  command->add_option("--endpoint", options->endpoint, "Where the store is")->required();
  command->add_option("--directory", options->directory, "Where the files are")->required();
  command->add_option("--nodes", options->nodes, "How many join")->required();
  command->add_option("--number", options->number, "Which of them this is")->required();
  command->callback([options, &exit_code] {
    real::RealProcess process({"hooke"});
    exit_code = process.run([&](sim::Ports& ports) { return join(ports, *options); });
  });
}

}  // namespace hooke::cli
