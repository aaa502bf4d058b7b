#pragma once
// Small scenarios and ways to run them, shared by the tests of this folder.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "scenarios/simulated/determinism_check.h"
#include "scenarios/simulated/runner.h"

namespace hooke::scenario {

inline WorkerStep work(Duration span) {
  return {WorkerStep::Kind::run, span, 0, 1};
}
inline WorkerStep exit_with(std::int64_t code) {
  return {WorkerStep::Kind::exit, {}, code, 1};
}
inline WorkerStep init() {
  return {WorkerStep::Kind::init, {}, 0, 1};
}
inline WorkerStep collective(std::int64_t count, Duration before) {
  return {WorkerStep::Kind::collective, before, 0, count};
}

/// Nodes a, b, … of one job; a serves the store; each node runs one worker for 20 s.
inline Scenario job(std::int64_t nodes) {
  Scenario scenario;
  scenario.name = "test";
  scenario.seed = 7;
  for (std::int64_t i = 0; i < nodes; ++i) {
    NodePlan node;
    node.id = std::string(1, static_cast<char>('a' + i));
    scenario.cluster.nodes.push_back(node);
  }
  scenario.cluster.store_host = "a";
  scenario.protocol.rendezvous.min_nodes = nodes;
  scenario.protocol.rendezvous.max_nodes = nodes;
  scenario.workers.program = {work(20s), exit_with(0)};
  return scenario;
}

/// The same with 300 s of work.
inline Scenario long_job(std::int64_t nodes) {
  Scenario scenario = job(nodes);
  scenario.workers.program = {work(300s), exit_with(0)};
  return scenario;
}

inline TimelineEntry at(Duration when, std::string what, std::vector<std::string> nodes = {}) {
  TimelineEntry entry;
  entry.trigger.at = when;
  entry.what = std::move(what);
  entry.from = std::move(nodes);
  return entry;
}
inline TimelineEntry on(std::string event, std::string what, std::vector<std::string> nodes = {}) {
  TimelineEntry entry;
  entry.trigger.event = std::move(event);
  entry.what = std::move(what);
  entry.from = std::move(nodes);
  return entry;
}

/// Keeps every event as a line.
class Lines final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    all.push_back(describe(event, names));
    ++count[std::string(event.type->name)];
    last_at[std::string(event.type->name)] = event.at.time_since_epoch();
  }
  /// Lines that hold every one of `parts`.
  [[nodiscard]] std::vector<std::string> with(const std::vector<std::string>& parts) const {
    std::vector<std::string> found;
    for (const std::string& line : all) {
      if (std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
            return line.find(part) != std::string::npos;
          })) {
        found.push_back(line);
      }
    }
    return found;
  }
  std::vector<std::string> names{"a", "b", "c", "d", "e"};
  std::vector<std::string> all;
  std::map<std::string, int> count;
  std::map<std::string, Duration> last_at;
};

/// Runs judged by no invariant: what the job did is all that matters here.
inline RunReport run_bare(const Scenario& scenario, Lines* lines = nullptr,
                          RunOptions options = {}) {
  kernel::Kernel kernel;
  if (lines != nullptr) options.sinks.push_back(lines);
  return run(kernel, scenario, options, properties::InvariantRegistry());
}

/// What did not come true, for a failing test's message.
inline std::string unmet(const RunReport& report) {
  std::string text = report.harness_failure;
  if (report.trace_difference)
    text +=
        "\n  1: " + report.trace_difference->first + "\n  2: " + report.trace_difference->second;
  for (const Unmet& each : report.unmet) text += "\n  " + each.expectation + ": " + each.reason;
  for (const AgentResult& agent : report.agents) {
    text += "\n  agent " + agent.node + " " + agent.outcome + " " + agent.detail;
  }
  return text;
}

inline std::vector<std::string> outcomes(const RunReport& report) {
  std::vector<std::string> all;
  for (const AgentResult& agent : report.agents) all.push_back(agent.node + " " + agent.outcome);
  return all;
}

}  // namespace hooke::scenario
