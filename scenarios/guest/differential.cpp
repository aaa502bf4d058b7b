// Two runs, then the earliest place where a node's steps part.
#include "scenarios/guest/differential.h"

#include <algorithm>
#include <utility>

#include "model/launch/launch_agent.h"
#include "scenarios/guest/guest_runner.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<AgentStep>;

constexpr std::size_t kShownBefore = 3;

/// Where two sequences part; nullopt: nowhere.
std::optional<std::size_t> parting(const Steps& ours, const Steps& theirs) {
  std::size_t i = 0;
  while (i < ours.size() && i < theirs.size() && ours[i] == theirs[i]) ++i;
  if (i == ours.size() && i == theirs.size()) return std::nullopt;
  return i;
}

std::optional<AgentStep> step(const Steps& steps, std::size_t i) {
  return i < steps.size() ? std::optional(steps[i]) : std::nullopt;
}

sim::WorldTime moment_of(const StepDifference& difference) {
  if (!difference.ours) return difference.theirs->at;
  if (!difference.theirs) return difference.ours->at;
  return std::min(difference.ours->at, difference.theirs->at);
}

const NodeSteps& of(const AgentSteps& steps, const std::string& node) {
  static const NodeSteps none;
  const auto found = steps.find(node);
  return found == steps.end() ? none : found->second;
}

/// The earlier of what there is and where these sequences part.
void look(const std::string& node, bool decision, const Steps& ours, const Steps& theirs,
          std::optional<StepDifference>& first) {
  const auto at = parting(ours, theirs);
  if (!at) return;
  StepDifference found{node, decision, *at + 1, step(ours, *at), step(theirs, *at), {}};
  if (first && moment_of(*first) <= moment_of(found)) return;
  for (std::size_t i = *at - std::min(*at, kShownBefore); i < *at; ++i)
    found.before.push_back(ours[i]);
  first = std::move(found);
}

/// How many of both are before `end`.
std::size_t equal_before(const Steps& ours, const Steps& theirs, sim::WorldTime end) {
  std::size_t i = 0;
  while (i < ours.size() && i < theirs.size() && ours[i].at < end && ours[i] == theirs[i]) ++i;
  return i;
}

void forget_from(AgentSteps& steps, sim::WorldTime end) {
  for (auto& [node, both] : steps) {
    for (Steps* const some : {&both.requests, &both.decisions})
      std::erase_if(*some, [&](const AgentStep& step) { return step.at >= end; });
  }
}

/// When a run was cut by a limit of the harness, in the middle of an instant: what the others of
/// its fibers would have done at that instant is not known.
sim::WorldTime cut_of(const RunReport& report) {
  const bool cut = report.rounds_exhausted || !report.inconclusive.empty();
  return cut ? sim::WorldTime(report.world_time) : sim::WorldTime::max();
}

}  // namespace

Comparison compare(AgentSteps ours, AgentSteps theirs, sim::WorldTime end) {
  forget_from(ours, end);
  forget_from(theirs, end);
  Comparison out;
  AgentSteps all = ours;  // for the names of the nodes of both
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [node, steps] : all) {
    const NodeSteps& one = of(ours, node);
    const NodeSteps& other = of(theirs, node);
    look(node, false, one.requests, other.requests, out.first);
    look(node, true, one.decisions, other.decisions, out.first);
  }
  const sim::WorldTime parted = out.first ? moment_of(*out.first) : sim::WorldTime::max();
  for (const auto& [node, steps] : all) {
    const NodeSteps& one = of(ours, node);
    const NodeSteps& other = of(theirs, node);
    out.requests += equal_before(one.requests, other.requests, parted);
    out.decisions += equal_before(one.decisions, other.decisions, parted);
  }
  return out;
}

Differential play_both(kernel::Kernel& kernel, const Scenario& given, RunOptions options,
                       const properties::InvariantRegistry& invariants, guest::Zygote& zygote) {
  Differential out;
  options.determinism_check = false;
  const model::Variant release = release_of(zygote.greeting().text());
  const Scenario scenario = played_by(release, given);
  Scenario faithful = scenario;
  faithful.protocol.defects.clear();
  for (const std::string& what : unsupported_by_guests(faithful, release)) {
    out.unsupported += (out.unsupported.empty() ? "" : ", ") + what;
  }
  if (!out.unsupported.empty()) return out;
  StepRecorder ours(kernel, scenario);
  StepRecorder theirs(kernel, faithful);
  options.sinks = {&ours};
  options.agent = ours.watch([&](sim::Ports& ports, const model::LaunchConfig& config) {
    return model::launch_agent(ports, options.plugins, config);
  });
  out.ours = run(kernel, scenario, options, invariants);
  options.sinks = {&theirs};
  options.agent = {};
  out.theirs = run_with_guests(kernel, faithful, options, invariants, zygote,
                               [&](AgentBody agent) { return theirs.watch(std::move(agent)); });
  out.comparison =
      compare(ours.steps(), theirs.steps(), std::min(cut_of(out.ours), cut_of(out.theirs)));
  return out;
}

std::string side_by_side(const StepDifference& difference) {
  const auto line = [](const char* who, const AgentStep& step) {
    const std::int64_t ns = step.at.time_since_epoch().count();
    std::string digits = std::to_string(ns % 1'000'000'000);
    digits.insert(0, 9 - digits.size(), '0');
    std::string out = "    " + std::string(who) + std::to_string(ns / 1'000'000'000) + "." +
                      digits + " s  " + step.text;
    if (step.bytes != 0) out += "  " + std::to_string(step.bytes) + " bytes";
    return out + "\n";
  };
  const auto either = [&](const char* who, const std::optional<AgentStep>& step) {
    return step ? line(who, *step) : "    " + std::string(who) + "nothing more\n";
  };
  std::string out = "  node " + difference.node + ", " +
                    (difference.decision ? "decision " : "request ") +
                    std::to_string(difference.number) + "\n";
  for (const AgentStep& step : difference.before) out += line("both     ", step);
  out += either("hooke    ", difference.ours);
  out += either("PyTorch  ", difference.theirs);
  return out;
}

}  // namespace hooke::scenario
