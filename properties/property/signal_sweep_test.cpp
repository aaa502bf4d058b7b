// A signal at every moment: reference scenarios are run once, and then once more for every instant
// at which something happened in them, with a signal to an agent at that instant.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

/// When something happened, and whose workers had been started by then.
class Instants final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.at > sim::WorldTime{}) at.insert(event.at.time_since_epoch());
  }
  std::set<Duration> at;
};

/// The nodes whose agents have started workers before `moment`: from then on they catch signals.
class Catching final : public kernel::TraceSink {
 public:
  explicit Catching(Duration moment) : moment_(moment) {}
  void on_event(const sim::Event& event) override {
    if (event.at.time_since_epoch() >= moment_) return;
    if (event.type == &world::events::process_started && event.field("program").text() == "agent") {
      nodes.erase(event.node.value);
    } else if (event.type->name == "worker.started") {
      nodes.insert(event.node.value);
    }
  }
  std::set<std::uint32_t> nodes;

 private:
  Duration moment_;
};

struct Sweep {
  const char* scenario;
  int signals;  ///< so many, 100 ms apart
};

void PrintTo(const Sweep& sweep, std::ostream* out) {
  *out << sweep.signals << " x SIGTERM in " << sweep.scenario;
}

class SignalSweep : public testing::TestWithParam<Sweep> {
 protected:
  static Scenario load(const std::string& name) {
    const char* const source = std::getenv("HOOKE_SOURCE_DIR");
    Scenario scenario = load_scenario_file(
        (std::filesystem::path(source) / "scenarios/library" / (name + ".json")).string());
    scenario.expect = {};
    scenario.time_limit = 7200s;  // beyond every time-out of the protocol
    return scenario;
  }

  RunReport play(const Scenario& scenario, kernel::TraceSink& sink) {
    RunOptions options;
    options.determinism_check = false;
    options.sinks.push_back(&sink);
    return run(kernel_, scenario, options, properties::InvariantRegistry::with_builtins());
  }

  /// What is wrong with how it ended; empty when nothing is.
  static std::string complaint(const Scenario& played, const RunReport& report,
                               const std::string& node, int signals, bool caught) {
    const bool hardened = played.protocol.variant == model::Variant::hardened;
    if (!report.harness_failure.empty()) return report.harness_failure;
    for (const AgentResult& agent : report.agents) {
      if (agent.outcome == "running") return "the agent on " + agent.node + " hangs";
      if (agent.outcome == "killed" && caught && agent.node == node) {
        return "the agent on " + node + " died of a signal that it catches";
      }
      if (agent.outcome == "signalled" && agent.exit_code != (hardened ? 128 + 15 : 1)) {
        return "the agent on " + node + " was signalled and ended with " +
               std::to_string(*agent.exit_code);
      }
      if (agent.outcome == "succeeded" && agent.exit_code != 0) {
        return "the agent on " + agent.node + " succeeded with " + std::to_string(*agent.exit_code);
      }
    }
    for (const properties::Violation& violation : report.violations) {
      // A third signal leaves workers behind; hardened agents hear it too late for that, and
      // hear everything in time.
      const bool orphans = violation.invariant == "safety.no_orphans" && (hardened || signals < 3);
      const bool deaf = violation.invariant == "liveness.signals_take_effect" && hardened;
      if (orphans || deaf || violation.invariant == "safety.exit_code_truth") {
        return violation.invariant + ": " + violation.witness;
      }
    }
    return "";
  }

  kernel::Kernel kernel_;
};

TEST_P(SignalSweep, no_agent_hangs_and_no_worker_is_left_behind) {
  const Scenario reference = load(GetParam().scenario);
  Instants instants;
  const RunReport quiet = play(reference, instants);
  ASSERT_TRUE(quiet.harness_failure.empty()) << quiet.harness_failure;
  ASSERT_GT(instants.at.size(), 10U);
  int signalled = 0;
  std::size_t turn = 0;
  for (const Duration at : instants.at) {
    const std::size_t index = turn++ % reference.cluster.nodes.size();
    const std::string& node = reference.cluster.nodes[index].id;
    Scenario disturbed = reference;
    for (int i = 0; i < GetParam().signals; ++i) {
      TimelineEntry entry;
      entry.trigger.at = at + i * 100ms;
      entry.what = "agent.signal";
      entry.from = {node};
      entry.signal = "SIGTERM";
      disturbed.timeline.push_back(entry);
    }
    Catching catching(at);
    const RunReport report = play(disturbed, catching);
    const bool caught = catching.nodes.contains(static_cast<std::uint32_t>(index));
    ASSERT_EQ(complaint(disturbed, report, node, GetParam().signals, caught), "")
        << GetParam().signals << " x SIGTERM to " << node << " at " << at.count() << " ns";
    for (const AgentResult& agent : report.agents)
      signalled += agent.outcome == "signalled" ? 1 : 0;
  }
  EXPECT_GT(signalled, 0) << "a sweep that meets no agent proves nothing";
  RecordProperty("instants", static_cast<int>(instants.at.size()));
}

INSTANTIATE_TEST_SUITE_P(
    , SignalSweep,
    testing::Values(Sweep{"smoke/happy-path-4-nodes", 1}, Sweep{"smoke/late-joiner", 1},
                    Sweep{"smoke/worker-restart", 1}, Sweep{"worlds/machine-lost-and-back", 1},
                    Sweep{"backends/legacy-etcd-worker-restart", 1},
                    Sweep{"timers/expired-restarts-hardened", 1},
                    Sweep{"restarts/failure-behind-the-exit-barrier-hardened", 1},
                    Sweep{"rendezvous/blip-is-outlasted-hardened", 1},
                    Sweep{"restarts/failure-behind-the-exit-barrier-hardened", 3},
                    Sweep{"smoke/worker-restart", 2}, Sweep{"worlds/machine-lost-and-back", 3}),
    [](const auto& sweep) {
      std::string name = std::to_string(sweep.param.signals) + "_" + sweep.param.scenario;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace hooke::scenario
