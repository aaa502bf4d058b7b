// Signals to PyTorch's agents at 52 instants of their lives: in the simulated world they end, and
// their workers are told, as on this machine. Hooke's own agents are asked, too.
#include <fstream>
#include <span>

#include "job.h"
#include "scenarios/guest/guest_runner.h"
#include "scenarios/hunt/explorer.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using scenario::Scenario;

/// Where in its life an agent is when the signal comes.
struct Phase {
  const char* name;
  const char* point;           ///< a fault point that torchrun has
  std::chrono::seconds after;  ///< zero: right there
  int nodes = 1;               ///< of the job
  bool peer = false;           ///< whether the other node is there; its workers work for longer
  bool again = false;  ///< a second signal: a SIGTERM came a second before, to a deaf worker
};

constexpr std::array kPhases{
    Phase{"before all", "agent.started", 0s},
    Phase{"before the rendezvous", "rendezvous.joining", 0s},
    Phase{"waits for another node", "rendezvous.joining", 2s, 2},
    Phase{"has its seat", "rendezvous.joined", 0s},
    Phase{"has joined", "agent.joined", 0s},
    Phase{"before its workers start", "agent.ranks_assigned", 0s},
    Phase{"its workers have started", "agent.workers_started", 0s},
    Phase{"its workers run", "agent.workers_started", 1s},
    Phase{"waits for workers to stop", "agent.workers_started", 2s, 1, false, true},
    Phase{"before the exit barrier", "agent.exit_barrier", 0s},
    Phase{"waits in the exit barrier", "agent.exit_barrier", 1s, 2, true},
    Phase{"before it stops its workers", "agent.stopping", 0s},
    Phase{"before it closes", "rendezvous.closing", 0s},
};
constexpr std::array kSignals{sim::Signal::term, sim::Signal::int_, sim::Signal::hup,
                              sim::Signal::quit};

/// As in guest_signals.py.
constexpr auto kLife = 4s, kPeersLife = 12s, kShutdown = 5s;

/// What became of the agent and of its worker, in words.
std::string told(int end, const std::vector<std::string>& got, std::size_t left) {
  std::string out = end < 0 ? "killed by " + std::string(to_string(static_cast<sim::Signal>(-end)))
                            : "exit code " + std::to_string(end);
  for (const std::string& signal : got) out += ", worker got " + signal;
  return out + (left == 0 ? "" : ", worker left");
}

// ---- simulated ----------------------------------------------------------------------------------

scenario::WorkerStep step(scenario::WorkerStep::Kind kind, sim::Duration span = {}) {
  scenario::WorkerStep out;
  out.kind = kind;
  out.span = span;
  return out;
}

Scenario world_of(const Phase& phase, sim::Signal signal) {
  Scenario out;
  out.cluster.nodes.resize(static_cast<std::size_t>(phase.nodes));
  out.cluster.nodes.front().id = out.cluster.store_host = "node-a";
  if (phase.nodes == 2) {
    out.cluster.nodes.back().id = "node-b";
    if (!phase.peer) out.cluster.nodes.back().start.reset();
  }
  out.protocol.rendezvous.min_nodes = out.protocol.rendezvous.max_nodes = phase.nodes;
  out.protocol.rendezvous.last_call = 1s;
  out.protocol.agent.shutdown_timeout = kShutdown;
  using Kind = scenario::WorkerStep::Kind;
  out.workers.program = {step(Kind::run, kLife), step(Kind::exit)};
  if (phase.peer)
    out.workers.overrides["node-b/*"] = {step(Kind::run, kPeersLife), step(Kind::exit)};
  if (phase.again) out.workers.slow_stop = 100s;
  out.time_limit = 60s;
  scenario::TimelineEntry entry;
  entry.what = "agent.signal";
  entry.from = {"node-a"};
  entry.trigger.fault_point = phase.point;
  entry.trigger.on_node = "node-a";
  entry.trigger.after = phase.after - 1s;
  entry.signal = "SIGTERM";
  if (phase.again) out.timeline.push_back(entry);
  entry.trigger.after = phase.after;
  entry.signal = to_string(signal);
  out.timeline.push_back(entry);
  return out;
}

/// The first node's agent, the signals to its worker, and their ends.
class Ends final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.node != sim::NodeId{0}) return;
    const std::string_view type = event.type->name;
    if (type == "process.started" && !agent_) {
      agent_ = event.pid;
    } else if (type == "process.started" && !worker_) {
      worker_ = event.pid;
    } else if (type == "process.signalled" && event.pid == worker_) {
      const auto signal = static_cast<sim::Signal>(number(event, "signal"));
      if (signal != sim::Signal::kill) got_.emplace_back(to_string(signal));
    } else if (type == "process.ended" && event.pid == worker_) {
      left_ = 0;
    } else if (type == "process.ended" && event.pid == agent_) {
      told_ = told(code(number(event, "status")), got_, worker_ ? left_ : 0);
    }
  }
  [[nodiscard]] const std::string& told_at_the_end() const { return told_; }

 private:
  static std::int64_t number(const sim::Event& event, std::string_view field) {
    return event.field(field).number();
  }
  /// Of KeyboardInterrupt a real interpreter dies by the signal, of which a shell makes this number.
  static int code(std::int64_t status) {
    constexpr int kInterrupted = 130;
    return status == kInterrupted ? -static_cast<int>(sim::Signal::int_) : static_cast<int>(status);
  }

  std::optional<sim::Pid> agent_, worker_;
  std::vector<std::string> got_;
  std::size_t left_ = 1;
  std::string told_ = "never ends";
};

std::string simulated(const Phase& phase, sim::Signal signal, guest::Zygote* guests) {
  static const auto invariants = properties::InvariantRegistry::with_builtins();
  kernel::Kernel kernel;
  Ends ends;
  scenario::RunOptions options = hunt::hunting_options(false);
  options.sinks = {&ends};
  const Scenario world = world_of(phase, signal);
  const scenario::RunReport report =
      guests == nullptr ? scenario::run(kernel, world, options, invariants)
                        : scenario::run_with_guests(kernel, world, options, invariants, *guests);
  return report.harness_failure + report.unsupported + ends.told_at_the_end();
}

// ---- real ---------------------------------------------------------------------------------------

/// How real torchrun agents end, phase by phase and signal by signal.
std::vector<std::string> real_ends() {
  json instants = json::array();
  for (const Phase& phase : kPhases) {
    for (const sim::Signal signal : kSignals) {
      instants.push_back({{"point", phase.point},
                          {"after", phase.after.count()},
                          {"signal", static_cast<int>(signal)},
                          {"nodes", phase.nodes},
                          {"peer", phase.peer},
                          {"again", phase.again}});
    }
  }
  std::vector<std::string> out;
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path points =
        script("").parent_path().parent_path().parent_path() / "scenarios/guest/python";
    Child agents(ports, directory, "agents",
                 {torch_python(), script("guest_signals.py").string(), directory.string(),
                  points.string(), instants.dump()});
    EXPECT_EQ(agents.end(600s), 0) << agents.output();
    std::ifstream file(directory / "ends.json");
    const json ends = json::parse(file, nullptr, false);
    if (!ends.is_array()) return;
    for (const json& end : ends) {
      out.push_back(told(end.value("end", 0), end.value("got", std::vector<std::string>()),
                         end.value("left", std::size_t{0})));
    }
  });
  return out;
}

TEST(GuestSignals, end_torchrun_at_fifty_two_instants_as_on_a_real_machine) {
  if (torch_python().empty()) GTEST_SKIP() << "PyTorch is not available here";
  const auto torch = scenario::start_torch(torch_python());
  const std::vector<std::string> real = real_ends();
  ASSERT_EQ(real.size(), kPhases.size() * kSignals.size());
  std::size_t i = 0;
  for (const Phase& phase : kPhases) {
    for (const sim::Signal signal : kSignals) {
      SCOPED_TRACE(std::string(to_string(signal)) + ", " + phase.name);
      EXPECT_EQ(simulated(phase, signal, torch.get()), real[i]) << "PyTorch's agent";
      EXPECT_EQ(simulated(phase, signal, nullptr), real[i]) << "hooke's agent";
      ++i;
    }
  }
}

}  // namespace
}  // namespace hooke::interop
