// A list of changes in a fixed order, and the one test that all have to pass.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/format/duration.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/cause_recorder.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using scenario::duration_text;
using scenario::Scenario;

struct Change {
  std::string what;
  Lever lever{};
  Scenario scenario;
};

/// Collects changes of one scenario; a change that changes nothing, or that no loader takes, is
/// none.
class Changes {
 public:
  explicit Changes(const Scenario& scenario) : scenario_(scenario) {}

  template <class Edit>
  void add(std::string what, const Edit& edit) {
    Scenario changed = scenario_;
    edit(changed);
    if (changed == scenario_) return;
    all.push_back({std::move(what), lever, std::move(changed)});
  }

  /// The span that `get` finds, twice as long and half as long.
  template <class Get>
  void stretch(const std::string& name, const Get& get) {
    Scenario copy = scenario_;
    const sim::Duration usual = get(copy);
    if (usual < 2us) return;
    for (const sim::Duration span : {usual * 2, sim::Duration(usual / 2 / 1us * 1us)}) {
      add(fmt::format("{} {} instead of {}", name, duration_text(span), duration_text(usual)),
          [&](Scenario& changed) { get(changed) = span; });
    }
  }

  std::vector<Change> all;
  Lever lever = Lever::scenario;  ///< of the changes that are added next

 private:
  const Scenario& scenario_;
};

std::string name_of(const scenario::TimelineEntry& entry) {
  std::string name = entry.what;
  for (const std::string& node : entry.from) name += " " + node;
  if (entry.trigger.at) return name + " at " + duration_text(*entry.trigger.at);
  return name + " when " + entry.trigger.event.value_or(entry.trigger.fault_point.value_or(""));
}

void change_faults(const Scenario& scenario, Changes& changes) {
  for (std::size_t i = 0; i < scenario.timeline.size(); ++i) {
    const scenario::TimelineEntry& entry = scenario.timeline[i];
    const std::string name = name_of(entry);
    changes.add("without " + name, [&](Scenario& changed) {
      changed.timeline.erase(changed.timeline.begin() + static_cast<std::ptrdiff_t>(i));
    });
    if (entry.duration) {
      const sim::Duration half = *entry.duration / 2;
      changes.add(fmt::format("{} for {} instead of {}", name, duration_text(half),
                              duration_text(*entry.duration)),
                  [&](Scenario& changed) { changed.timeline[i].duration = half; });
    }
    if (entry.trigger.at && *entry.trigger.at > 1s) {
      changes.add(name + ", but one second earlier",
                  [&](Scenario& changed) { *changed.timeline[i].trigger.at -= 1s; });
    }
    changes.add(name + ", but one second later", [&](Scenario& changed) {
      scenario::Trigger& trigger = changed.timeline[i].trigger;
      (trigger.at ? *trigger.at : trigger.after) += 1s;
    });
  }
}

/// Without a core nothing is demanded of one: that says something of other failures only.
void change_core(const Scenario& scenario, const std::string& target, Changes& changes) {
  if (!scenario.core) return;
  if (target != "liveness.core") {
    changes.add("without the healing of the core", [](Scenario& changed) { changed.core.reset(); });
  }
  changes.add("all nodes in the core", [](Scenario& changed) {
    changed.core->nodes.clear();
    for (const scenario::NodePlan& node : changed.cluster.nodes) {
      changed.core->nodes.push_back(node.id);
    }
  });
}

void change_starts(const Scenario& scenario, Changes& changes) {
  for (std::size_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
    const scenario::NodePlan& node = scenario.cluster.nodes[i];
    if (!node.start || *node.start == sim::Duration::zero()) continue;
    const auto start = [&](const std::string& what, std::optional<sim::Duration> at) {
      changes.add(
          fmt::format("node {} started {}, not at {}", node.id, what, duration_text(*node.start)),
          [&](Scenario& changed) { changed.cluster.nodes[i].start = at; });
    };
    start("never", std::nullopt);
    start("at once", sim::Duration::zero());
    if (*node.start > 1s) start("one second earlier", *node.start - 1s);
    start("one second later", *node.start + 1s);
  }
}

void change_time_outs(Changes& changes) {
  changes.stretch("last_call",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.rendezvous.last_call; });
  changes.stretch("join time-out",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.rendezvous.join; });
  changes.stretch("close time-out",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.rendezvous.close; });
  changes.stretch("keep-alive interval", [](Scenario& s) -> sim::Duration& {
    return s.protocol.rendezvous.keep_alive_interval;
  });
  changes.stretch("read_timeout",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.rendezvous.read_timeout; });
  changes.stretch("monitor_interval",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.agent.monitor_interval; });
  changes.stretch("exit_barrier_timeout", [](Scenario& s) -> sim::Duration& {
    return s.protocol.agent.exit_barrier_timeout;
  });
  changes.stretch("shutdown_timeout",
                  [](Scenario& s) -> sim::Duration& { return s.protocol.agent.shutdown_timeout; });
}

/// How much must be there, and how often it may fail.
void change_budgets(const Scenario& scenario, Changes& changes) {
  const scenario::RendezvousPlan& sizes = scenario.protocol.rendezvous;
  const auto min_nodes = [&](std::int64_t number) {
    changes.add(fmt::format("min_nodes {} instead of {}", number, sizes.min_nodes),
                [&](Scenario& changed) { changed.protocol.rendezvous.min_nodes = number; });
  };
  if (sizes.max_nodes > sizes.min_nodes) min_nodes(sizes.min_nodes + 1);
  if (sizes.min_nodes > 1) min_nodes(sizes.min_nodes - 1);
  const std::int64_t restarts = scenario.protocol.agent.max_restarts;
  for (const std::int64_t number : {restarts + 1, std::int64_t{0}}) {
    changes.add(fmt::format("max_restarts {} instead of {}", number, restarts),
                [&](Scenario& changed) { changed.protocol.agent.max_restarts = number; });
  }
}

/// Another size of the job.
void change_size(const Scenario& scenario, Changes& changes) {
  const scenario::RendezvousPlan& sizes = scenario.protocol.rendezvous;
  for (const std::int64_t number : {sizes.max_nodes + 1, sizes.max_nodes - 1}) {
    if (number < sizes.min_nodes) continue;
    changes.add(fmt::format("max_nodes {} instead of {}", number, sizes.max_nodes),
                [&](Scenario& changed) { changed.protocol.rendezvous.max_nodes = number; });
  }
}

void change_clocks(const Scenario& scenario, Changes& changes) {
  for (std::size_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
    changes.add("the clock of node " + scenario.cluster.nodes[i].id + " right",
                [&](Scenario& changed) {
                  changed.cluster.nodes[i].clock_skew = {};
                  changed.cluster.nodes[i].clock_drift_ppm = 0;
                });
  }
}

void change_agents(const Scenario& scenario, Changes& changes) {
  changes.add("the variant hardened", [](Scenario& changed) {
    changed.protocol.variant = model::Variant::hardened;
    for (scenario::NodePlan& node : changed.cluster.nodes) node.variant.reset();
  });
  // One of them alone: of a large job a reader does not want them all.
  constexpr std::size_t kNodesMax = 5;
  const std::size_t nodes = scenario.cluster.nodes.size();
  for (std::size_t i = 0; i < nodes && nodes > 1 && nodes <= kNodesMax; ++i) {
    if (scenario.variant_of(scenario.cluster.nodes[i]) == model::Variant::hardened) continue;
    changes.add(
        "one hardened agent, on node " + scenario.cluster.nodes[i].id,
        [&](Scenario& changed) { changed.cluster.nodes[i].variant = model::Variant::hardened; });
  }
  for (const std::string& defect : scenario.protocol.defects) {
    changes.add("without the defect " + defect,
                [&](Scenario& changed) { std::erase(changed.protocol.defects, defect); });
  }
}

/// What is no part of PyTorch's protocol, but is for the owner of the job to choose.
void change_arrangement(const Scenario& scenario, Changes& changes) {
  changes.add("TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", [](Scenario& changed) {
    changed.protocol.agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  });
  changes.add("a store outside the job",
              [](Scenario& changed) { changed.cluster.store_host.clear(); });
  const std::optional<sim::Duration> abort = scenario.workers.peer_abort;
  changes.add(fmt::format("peer_abort 1m instead of {}", abort ? duration_text(*abort) : "never"),
              [](Scenario& changed) { changed.workers.peer_abort = 60s; });
}

void change_programs(const Scenario& scenario, Changes& changes) {
  for (const auto& each : scenario.workers.overrides) {
    const std::string& key = each.first;
    changes.add("the usual program for the workers of " + key,
                [&](Scenario& changed) { changed.workers.overrides.erase(key); });
  }
}

std::vector<Change> changes_of(const Scenario& scenario, const std::string& target) {
  Changes changes(scenario);
  changes.lever = Lever::setting;
  change_arrangement(scenario, changes);
  change_time_outs(changes);
  change_budgets(scenario, changes);
  changes.lever = Lever::agents;
  change_agents(scenario, changes);
  changes.lever = Lever::scenario;
  change_faults(scenario, changes);
  change_core(scenario, target, changes);
  change_starts(scenario, changes);
  change_size(scenario, changes);
  change_programs(scenario, changes);
  change_clocks(scenario, changes);
  return std::move(changes.all);
}

bool loads(const Scenario& scenario, const model::Plugins& plugins) {
  try {
    static_cast<void>(
        scenario::load_scenario(scenario::write_scenario(scenario), "change", plugins));
    return true;
  } catch (const scenario::ScenarioError&) {
    return false;
  }
}

/// One scenario under several seeds.
class Worlds {
 public:
  Worlds(const ExplainOptions& options, const RunScenario& run) : options_(options), run_(run) {}

  /// The first is the scenario's own, with its tape if it has one.
  scenario::RunReport live(const Scenario& scenario, std::size_t world,
                           bool determinism_check) const {
    scenario::RunOptions run_options;
    run_options.determinism_check = determinism_check;
    run_options.plugins = options_.plugins;
    if (world == 0) return run_(scenario, run_options);
    Scenario other = scenario;
    other.tape.reset();
    other.seed += world;
    return run_(other, run_options);
  }

 private:
  const ExplainOptions& options_;
  const RunScenario& run_;
};

bool breaks(const scenario::RunReport& report, const std::string& invariant) {
  return std::any_of(
      report.violations.begin(), report.violations.end(),
      [&](const properties::Violation& each) { return each.invariant == invariant; });
}

/// A run that shows nothing: cut by the machine, or of a job that never began.
bool shows_nothing(const scenario::RunReport& report, std::int64_t rounds_before) {
  switch (report.end) {
    case kernel::RunEnd::stopped:
    case kernel::RunEnd::idle:
    case kernel::RunEnd::world_time_exhausted: break;
    default: return true;
  }
  return !report.harness_failure.empty() || (rounds_before > 0 && report.rounds == 0);
}

}  // namespace

std::vector<Counterfactual> find_counterfactuals(const Scenario& scenario,
                                                 const ExplainOptions& options,
                                                 const RunScenario& run) {
  const Worlds worlds(options, run);
  Share before;
  std::vector<std::int64_t> rounds;
  std::set<std::string> broken_before;
  for (std::size_t i = 0; i < options.worlds && !options.stopped(); ++i) {
    const scenario::RunReport report = worlds.live(scenario, i, false);
    ++before.runs;
    if (breaks(report, options.target.invariant)) ++before.failed;
    rounds.push_back(report.rounds);
    for (const properties::Violation& each : report.violations) {
      broken_before.insert(each.invariant);
    }
  }
  std::vector<Counterfactual> out;
  for (const Change& change : changes_of(scenario, options.target.invariant)) {
    if (options.stopped()) break;
    if (!loads(change.scenario, options.plugins)) continue;
    Counterfactual found{change.what, change.lever, before, {}, {}};
    std::set<std::string> broken;
    for (std::size_t i = 0; i < options.worlds && !options.stopped(); ++i) {
      const scenario::RunReport report = worlds.live(change.scenario, i, true);
      if (breaks(report, options.target.invariant) || shows_nothing(report, rounds[i])) break;
      ++found.after.runs;
      for (const properties::Violation& each : report.violations) broken.insert(each.invariant);
    }
    if (found.after.runs < options.worlds) continue;
    std::set_difference(broken.begin(), broken.end(), broken_before.begin(), broken_before.end(),
                        std::back_inserter(found.broken_instead));
    out.push_back(std::move(found));
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const Counterfactual& each) { return each.broken_instead.empty(); });
  return out;
}

}  // namespace hooke::hunt
