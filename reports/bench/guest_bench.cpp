// PyTorch's own agents in the simulated world: what a world of three of them costs, how much memory
// an agent has of its own, and how long the fork of one takes. HOOKE_TORCH_PYTHON names the
// interpreter; without it nothing is measured, which is said.
//
// Processor time is that of all processes, hooke's, the interpreter's and the agents', as the
// kernel counts it. On a busy machine it is nearer than real time to what an idle one takes, the
// least of all worlds nearest: caches and hardware threads are shared with what else runs.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include "scenarios/guest/guest_runner.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using guest::Message;

std::string python() {
  const char* const named = std::getenv("HOOKE_TORCH_PYTHON");
  return named == nullptr ? "" : named;
}

/// Forks an agent, and returns when it has made its first request.
guest::Zygote::Born fork_agent(guest::Zygote& zygote) {
  const Message nothing = Message::List{};
  const std::string home = std::filesystem::temp_directory_path().string();
  guest::Zygote::Born born = zygote.fork(Message::List{nothing, home, "a", "a", 100, nothing});
  guest::send_message(born.channels[0].get(), Message::List{0, 0, nothing, nothing, 0, {}});
  Message first;
  if (guest::receive_message(born.channels[0].get(), 30s, first) != guest::Received::message)
    throw guest::GuestError("the fork of an agent has made no request");
  return born;
}

/// Returns when the agent's memory is gone, which goes before its sockets do.
void end_agent(guest::Zygote& zygote, const guest::Zygote::Born& born) {
  zygote.kill(born.pid);
  Message ignored;
  static_cast<void>(guest::receive_message(born.channels[0].get(), 30s, ignored));
}

/// The interpreter that all measurements fork from, warm: it has forked often enough to have joined
/// its pages (sim/guest/python/hooke_zygote.py).
guest::Zygote& warm() {
  static const auto zygote = [] {
    auto started = start_torch(python());
    for (int i = 0; i < 10; ++i) end_agent(*started, fork_agent(*started));
    return started;
  }();
  return *zygote;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> children_of(const std::string& pid) {
  std::istringstream numbers(contents("/proc/" + pid + "/task/" + pid + "/children"));
  std::vector<std::string> out;
  for (std::string number; numbers >> number;) out.push_back(number);
  return out;
}

/// The interpreter is this program's only child.
std::string interpreter() {
  return children_of(std::to_string(getpid())).at(0);
}

/// What the process and the children that it has waited for have had of a processor.
double processor_seconds_of(const std::string& pid) {
  const std::string line = contents("/proc/" + pid + "/stat");
  const std::size_t command = line.rfind(')');
  if (command == std::string::npos) return 0;  // it has gone
  std::istringstream fields(line.substr(command + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // up to utime, proc(5)
  double ticks = 0;
  for (int i = 0; i < 4; ++i) {
    double more = 0;
    fields >> more;
    ticks += more;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double processor_seconds() {
  double all = processor_seconds_of("self") + processor_seconds_of(interpreter());
  for (const std::string& guest : children_of(interpreter())) all += processor_seconds_of(guest);
  return all;
}

WorkerStep step(WorkerStep::Kind kind, Duration span = {}) {
  WorkerStep out;
  out.kind = kind;
  out.span = span;
  return out;
}

TimelineEntry at(Duration moment, const std::string& what, const std::string& node) {
  TimelineEntry out;
  out.trigger.at = moment;
  out.what = what;
  out.from = {node};
  return out;
}

/// Three agents for 150 virtual seconds: formation, work, the exit barrier.
Scenario quiet() {
  Scenario out;
  out.name = "quiet";
  for (const char* const id : {"node-a", "node-b", "node-c"}) {
    NodePlan node;
    node.id = id;
    out.cluster.nodes.push_back(node);
  }
  out.cluster.store_host = "node-a";
  out.protocol.rendezvous.min_nodes = out.protocol.rendezvous.max_nodes = 3;
  out.workers.program = {step(WorkerStep::Kind::run, 148s), step(WorkerStep::Kind::exit)};
  out.time_limit = 150s;
  return out;
}

/// The same with two restarts: a worker is killed at 40 s and another one at 90 s.
Scenario restarts() {
  Scenario out = quiet();
  out.name = "restarts";
  for (const Duration moment : {40s, 90s})
    out.timeline.push_back(at(moment, "worker.signal", "node-b"));
  for (TimelineEntry& entry : out.timeline) entry.signal = "SIGKILL";
  return out;
}

RunReport play(const Scenario& scenario, std::vector<kernel::TraceSink*> sinks = {}) {
  static const auto invariants = properties::InvariantRegistry::with_builtins();
  kernel::Kernel kernel;
  RunOptions options;
  options.wall_time_max = 600'000ms;
  options.determinism_check = false;  // which plays the world a second time
  options.sinks = std::move(sinks);
  RunReport report = run_with_guests(kernel, scenario, options, invariants, warm());
  if (!report.harness_failure.empty()) throw guest::GuestError(report.harness_failure);
  return report;
}

void world(benchmark::State& state, Scenario (*scenario)()) {
  static_cast<void>(play(scenario()));  // warm
  double virtual_seconds = 0;
  double least = std::numeric_limits<double>::max();
  const double begin = processor_seconds();
  double before = begin;
  for (auto _ : state) {
    virtual_seconds += std::chrono::duration<double>(play(scenario()).world_time).count();
    const double now = processor_seconds();
    least = std::min(least, now - before);
    before = now;
  }
  const auto worlds = static_cast<double>(state.iterations());
  state.counters["processor_ms"] = (before - begin) * 1000 / worlds;
  state.counters["processor_ms_least"] = least * 1000;
  state.counters["virtual_s"] = virtual_seconds / worlds;
}

/// The most that an agent has of its own, in MiB, looked at ten times in a world's life.
class Memory final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.at - sim::WorldTime{} < next_) return;
    next_ += 15s;
    for (const std::string& guest : children_of(interpreter())) {
      std::istringstream lines(contents("/proc/" + guest + "/smaps_rollup"));
      double kib = 0;
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("Private_")) kib += std::stod(line.substr(line.find(':') + 1));
      }
      most_ = std::max(most_, kib / 1024);
    }
  }
  [[nodiscard]] double most() const { return most_; }

 private:
  Duration next_{10s};
  double most_ = 0;
};

void private_memory(benchmark::State& state) {
  Memory memory;
  for (auto _ : state) static_cast<void>(play(restarts(), {&memory}));
  state.counters["private_MiB"] = memory.most();
}

/// Until the agent makes its first request. Its end is in the processor time alone.
void fork_of_an_agent(benchmark::State& state) {
  guest::Zygote& zygote = warm();
  const double before = processor_seconds();
  for (auto _ : state) {
    const guest::Zygote::Born born = fork_agent(zygote);
    state.PauseTiming();
    end_agent(zygote, born);
    state.ResumeTiming();
  }
  state.counters["processor_ms"] =
      (processor_seconds() - before) * 1000 / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(world, quiet, &quiet)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(10);
BENCHMARK_CAPTURE(world, restarts, &restarts)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(10);
BENCHMARK(private_memory)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();
BENCHMARK(fork_of_an_agent)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(50);

}  // namespace
}  // namespace hooke::scenario

int main(int argc, char** argv) {
  if (hooke::scenario::python().empty()) {
    std::cout << "guests are not measured: not available here: expected HOOKE_TORCH_PYTHON to name "
                 "a Python with PyTorch, got nothing\n";
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const hooke::guest::GuestError& error) {
    std::cerr << "guests are not measured: " << error.what() << '\n';
    return 3;
  }
  benchmark::Shutdown();
}
