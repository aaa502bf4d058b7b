// hooke bench node: one node of a measured rendezvous, or several as fibers. Started by
// reports/bench/agents, which also starts PyTorch's counterpart (rendezvous_node.py), and by
// reports/bench/live: they are told by files when to join.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/registry.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/seconds.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

using namespace std::chrono_literals;

struct BenchNodeOptions {
  std::string endpoint, directory;
  std::int64_t nodes = 1, number = 0, count = 1;
  double spread_seconds = 0;
  std::int64_t join_timeout = 600, keep_alive = 5;
};

/// Adds up what the joins of this process have cost.
class CostWatch final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.type != &model::events::rendezvous_cost) return;
    attempts += event.field("attempts").number();
    conflicts += event.field("conflicts").number();
  }
  std::int64_t attempts = 0, conflicts = 0;
};

class Nodes {
 public:
  Nodes(sim::Ports& ports, const BenchNodeOptions& options) : ports_(ports), options_(options) {}

  int run(const CostWatch& cost) {
    for (std::int64_t i = 0; i < options_.count; ++i) handlers_.push_back(make_handler(i));
    write(own(0) + ".ready", "");
    await("go", 1ms);
    std::vector<sim::FiberId> fibers;
    for (std::int64_t i = 0; i < options_.count; ++i) {
      fibers.push_back(ports_.executor.spawn("node", [this, i] { join(i); }));
    }
    for (const sim::FiberId fiber : fibers) ports_.executor.join(fiber);
    write_whole(own(0) + ".cost",
                std::to_string(cost.attempts) + " " + std::to_string(cost.conflicts));
    // Rank 0 serves the workers' store: it stays until everybody has read its address.
    await("end", 10ms);
    return kAllHeld;
  }

 private:
  /// Nodes are told apart by their addresses: those of one process have all else in common.
  std::unique_ptr<model::RendezvousHandler> make_handler(std::int64_t index) {
    constexpr std::int64_t kByte = 256;
    model::RendezvousParameters parameters;
    parameters.backend = "c10d";
    parameters.endpoint = options_.endpoint;
    parameters.run_id = "bench";
    parameters.min_nodes = parameters.max_nodes = options_.nodes;
    parameters.local_addr =
        "127.1." + std::to_string(index / kByte) + "." + std::to_string(index % kByte);
    parameters.config["is_host"] = "0";
    parameters.config["join_timeout"] = std::to_string(options_.join_timeout);
    parameters.config["keep_alive_interval"] = std::to_string(options_.keep_alive);
    return model::RendezvousRegistry::with_builtins().create(ports_, parameters);
  }
  void join(std::int64_t index) {
    const sim::MonotonicTime begin = ports_.clock.monotonic_now();
    const sim::Duration late =
        ports_.random.between("bench.start", sim::Duration{}, span_of(options_.spread_seconds));
    ports_.executor.sleep_until(begin + late);
    std::string result;
    try {
      static_cast<void>(handlers_[static_cast<std::size_t>(index)]->next_rendezvous());
      const sim::Duration whole = ports_.clock.monotonic_now() - begin;
      result = std::to_string((whole - late).count()) + " " + std::to_string(whole.count());
    } catch (const model::RendezvousError& error) {
      result = "failed";
    }
    write_whole(own(index) + ".in", result);
  }
  void await(const std::string& name, sim::Duration pause) {
    while (!ports_.files.exists(options_.directory + "/" + name)) {
      ports_.executor.sleep_until(ports_.clock.monotonic_now() + pause);
    }
  }
  [[nodiscard]] std::string own(std::int64_t index) const {
    return options_.directory + "/" + std::to_string(options_.number + index);
  }
  void write(const std::string& path, const std::string& text) {
    static_cast<void>(ports_.files.write(path, text));
  }

  /// The program that waits for the file never sees a part of it.
  void write_whole(const std::string& path, const std::string& text) {
    write(path + ".part", text);
    static_cast<void>(ports_.files.rename(path + ".part", path));
  }

  sim::Ports& ports_;
  const BenchNodeOptions& options_;
  std::vector<std::unique_ptr<model::RendezvousHandler>> handlers_;
};

}  // namespace

void add_bench_node(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<BenchNodeOptions>();
  CLI::App* command = bench.add_subcommand("node", "One node of a measured rendezvous");
  command->group("");  // reports/bench/agents calls it
  command->add_option("--endpoint", options->endpoint, "Where the store is")->required();
  command->add_option("--directory", options->directory, "Where the files are")->required();
  command->add_option("--nodes", options->nodes, "How many join")->required();
  command->add_option("--number", options->number, "Which of them this is")->required();
  command->add_option("--count", options->count, "How many nodes this process is, from there on");
  command->add_option("--start-spread", options->spread_seconds,
                      "Within how many seconds they start");
  command->add_option("--join-timeout", options->join_timeout,
                      "Seconds after which a node gives up");
  command->add_option("--keep-alive", options->keep_alive, "Seconds between two heartbeats");
  command->callback([options, &exit_code] {
    real::allow_many_descriptors();
    real::RealProcess process({"hooke"});
    CostWatch cost;
    process.add_sink(cost);
    exit_code = process.run([&](sim::Ports& ports) { return Nodes(ports, *options).run(cost); });
  });
}

}  // namespace hooke::cli
