#pragma once
// What the agents of one run do, node by node, in words that both kinds of agents have in common.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/guest/request_log.h"
#include "scenarios/simulated/cluster.h"
#include "sim/kernel/kernel.h"

namespace hooke::scenario {

/// A request to the store, or a decision.
struct AgentStep {
  sim::WorldTime at{};
  std::string text;
  std::vector<sim::WallTime> times;  ///< as RequestText has them; none of a decision
  std::size_t bytes = 0;
  friend bool operator==(const AgentStep&, const AgentStep&) = default;
};

/// Of all agents of a node, in the order of their happening.
struct NodeSteps {
  std::vector<AgentStep> requests;
  std::vector<AgentStep> decisions;
};
using AgentSteps = std::map<std::string, NodeSteps>;

/// Writes down one run: to be given its agents and, as a sink, its events. Must outlive the run,
/// whose fibers refer to it.
class StepRecorder final : public kernel::TraceSink {
 public:
  StepRecorder(const kernel::Kernel& kernel, const Scenario& scenario)
      : kernel_(kernel), names_(scenario.machine_names()) {}
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  /// The same agent, whose requests are written down.
  AgentBody watch(AgentBody agent);
  void on_event(const sim::Event& event) override;
  [[nodiscard]] const AgentSteps& steps() const { return steps_; }

 private:
  /// Fibers of an agent that dies may refer to its ports until the run is over.
  struct Watched {
    std::unique_ptr<sim::Network> network;
    std::unique_ptr<sim::Ports> ports;
  };

  const kernel::Kernel& kernel_;
  std::vector<std::string> names_;  ///< by NodeId
  AgentSteps steps_;
  std::deque<Watched> watched_;
};

}  // namespace hooke::scenario
