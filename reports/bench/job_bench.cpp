// Whole jobs: how much virtual time a second of real time buys, how many determinism checks of a
// small faulty world, and what the meeting of very many agents costs.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/observe/trace_events.h"
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

/// Waits until each agent has its verdict: it has its ranks, or it has none and its rendezvous has
/// failed, or the agent itself.
class Verdicts final : public kernel::TraceSink {
 public:
  Verdicts(std::int64_t nodes, std::function<void()> all_have)
      : open_(nodes), has_(static_cast<std::size_t>(nodes)), all_have_(std::move(all_have)) {}
  void on_event(const sim::Event& event) override {
    const bool in = event.type == &model::events::ranks_assigned;
    if (!in && event.type != &model::events::rendezvous_failed &&
        event.type != &model::events::agent_finished)
      return;
    if (std::exchange(has_[event.node.value], char{1}) != 0) return;
    joined_ += in ? 1 : 0;
    last_ = event.at;
    if (--open_ == 0) all_have_();
  }
  [[nodiscard]] std::int64_t joined() const { return joined_; }
  [[nodiscard]] std::int64_t open() const { return open_; }
  [[nodiscard]] sim::WorldTime last() const { return last_; }

 private:
  std::int64_t open_;
  std::int64_t joined_ = 0;
  sim::WorldTime last_{};
  std::vector<char> has_;  ///< by node
  std::function<void()> all_have_;
};

RunOptions without_limits(Verdicts& verdicts) {
  RunOptions options;
  options.determinism_check = false;
  options.steps_max = 0;
  options.wall_time_max = 3'600'000ms;
  options.memory_bytes_max = std::size_t{20} << 30U;
  options.sinks = {&verdicts};
  return options;
}

/// Says what is wrong with figures, if anything is.
void check(benchmark::State& state, const RunReport& report, const Verdicts& verdicts) {
  if (!report.violations.empty()) state.SkipWithError(report.violations[0].witness.c_str());
  if (verdicts.open() > 0) state.SkipWithError("the run ended before all agents had their verdict");
}

/// All agents of a job start at once, with all invariants on, until each has its verdict. Its memory
/// is the largest of the process so far.
void meeting(benchmark::State& state, const std::string& backend) {
  const std::int64_t nodes = state.range(0);
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  Scenario scenario = job(nodes);
  scenario.protocol.rendezvous.backend = backend;
  scenario.time_limit = 700s;
  for (auto _ : state) {
    Verdicts verdicts(nodes, [&] { kernel.stop(); });
    const RunReport report = run(kernel, scenario, without_limits(verdicts), invariants);
    check(state, report, verdicts);
    state.counters["joined"] = static_cast<double>(verdicts.joined());
    state.counters["virtual_s"] =
        std::chrono::duration<double>(verdicts.last().time_since_epoch()).count();
    state.counters["steps"] = static_cast<double>(report.steps);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Stops a run at a time, and says how much processor time had been spent by then.
struct Stop {
  explicit Stop(kernel::Kernel& of) : kernel(of) {}
  kernel::Kernel& kernel;
  std::clock_t spent = 0;
  void at(Duration time) {
    kernel.at(sim::WorldTime(time), {[](void* self, std::uint64_t) {
                                       static_cast<Stop*>(self)->spent = std::clock();
                                       static_cast<Stop*>(self)->kernel.stop();
                                     },
                                     this});
  }
};

/// A job whose agents have all met, and in which nothing happens until `end`: virtual time for a
/// second of processor time, the meeting not counted.
void steady(benchmark::State& state, const std::string& backend, Duration start_gap, Duration end) {
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  Scenario scenario = job(state.range(0), start_gap);
  scenario.protocol.rendezvous.backend = backend;
  for (auto _ : state) {
    std::clock_t met = 0;
    Stop stop(kernel);
    Verdicts verdicts(state.range(0), [&] { met = std::clock(); });
    RunOptions options = without_limits(verdicts);
    options.prepare = [&](world::World&) { stop.at(end); };
    check(state, run(kernel, scenario, options, invariants), verdicts);
    const Duration span = end - verdicts.last().time_since_epoch();
    const double seconds = static_cast<double>(stop.spent - met) / CLOCKS_PER_SEC;
    state.counters["virtual_s_per_s"] = std::chrono::duration<double>(span).count() / seconds;
  }
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
BENCHMARK_CAPTURE(meeting, static, "static")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(meeting, c10d, "c10d")
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(steady, static, "static", Duration(0), 30s)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(steady, c10d, "c10d", 20ms, 120s)
    ->Arg(64)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK(checked_seeds)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hooke::scenario

BENCHMARK_MAIN();
