// Whole jobs: how much virtual time a second of real time buys, and how many determinism checks of
// a small faulty world.
#include <benchmark/benchmark.h>

#include <string>

#include "scenarios/simulated/runner.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

WorkerStep step(WorkerStep::Kind kind, Duration span = {}, std::int64_t count = 1) {
  WorkerStep out;
  out.kind = kind;
  out.span = span;
  out.count = count;
  return out;
}

Scenario job(std::int64_t nodes, Duration start_gap = {}) {
  Scenario out;
  out.name = "bench";
  for (std::int64_t i = 0; i < nodes; ++i) {
    NodePlan node;
    node.id = "n" + std::to_string(100'000 + i);
    node.start = start_gap * i;
    out.cluster.nodes.push_back(node);
  }
  out.cluster.store_host = out.cluster.nodes.front().id;
  out.protocol.rendezvous.min_nodes = out.protocol.rendezvous.max_nodes = nodes;
  out.workers.program = {step(WorkerStep::Kind::run, 1h)};
  return out;
}

/// A running job with all invariants on: ten minutes of virtual time, formation included. Its nodes
/// start one after the other: a thousand at once never form a job (see the latency study).
void virtual_time(benchmark::State& state) {
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  Scenario scenario = job(state.range(0), 20ms);
  scenario.time_limit = 600s;
  double virtual_seconds = 0;
  for (auto _ : state) {
    RunOptions options;
    options.determinism_check = false;
    options.steps_max = 0;
    options.wall_time_max = 600'000ms;
    const RunReport report = run(kernel, scenario, options, invariants);
    virtual_seconds += std::chrono::duration<double>(report.world_time).count();
  }
  state.counters["virtual_s_per_s"] =
      benchmark::Counter(virtual_seconds, benchmark::Counter::kIsRate);
}

/// Eight agents, one crash, one restart: each seed run twice.
void checked_seeds(benchmark::State& state) {
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  Scenario scenario = job(8);
  scenario.protocol.rendezvous.min_nodes = 6;
  scenario.workers.program = {step(WorkerStep::Kind::init),
                              step(WorkerStep::Kind::collective, 10s, 6),
                              step(WorkerStep::Kind::exit)};
  scenario.workers.peer_abort = 20s;
  TimelineEntry crash;
  crash.trigger.at = 30s;
  crash.what = "node.crash";
  crash.from = {scenario.cluster.nodes.back().id};
  scenario.timeline = {crash};
  scenario.time_limit = 900s;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    RunOptions options;
    options.seed = ++seed;
    benchmark::DoNotOptimize(run(kernel, scenario, options, invariants).events);
  }
  state.counters["checked_seeds_per_day_per_core"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 86'400, benchmark::Counter::kIsRate);
}

BENCHMARK(virtual_time)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(checked_seeds)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hooke::scenario

BENCHMARK_MAIN();
