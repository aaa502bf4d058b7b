// The same past with other futures: from each of a few moments, then, between the last one from
// which it could be averted and the next, by halves to the very event.
#include <algorithm>
#include <map>
#include <set>

#include "scenarios/hunt/cause_recorder.h"
#include "scenarios/simulated/timeline.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;

/// How CauseRecorder begins what the timeline did.
constexpr const char* kFaultMark = "***";

/// When each entry of the timeline acted first.
class ActedRecorder final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.type != &scenario::events::timeline_acted) return;
    acted.try_emplace(static_cast<std::size_t>(event.field("entry").number()), event.at);
  }
  std::map<std::size_t, sim::WorldTime> acted;
};

class FutureSampler {
 public:
  FutureSampler(const scenario::Scenario& scenario, const ExplainOptions& options,
                const RunScenario& run)
      : scenario_(scenario), options_(options), run_(run) {}

  /// What happened until the failure; runs the scenario as it is.
  void live(sim::WorldTime failure) {
    CauseRecorder recorder(options_.phrase, scenario_.machine_names());
    ActedRecorder acted;
    scenario::RunOptions run_options = plain();
    run_options.sinks = {&recorder, &acted};
    static_cast<void>(run_(scenario_, run_options));
    acted_ = std::move(acted.acted);
    moments_.push_back({});
    for (const CauseRecorder::Line& line : recorder.lines()) {
      if (line.told.at > failure) break;
      // Of one instant the fault is told, or else what came last.
      if (line.told.at != moments_.back().at) {
        moments_.push_back(line.told);
      } else if (!moments_.back().what.starts_with(kFaultMark)) {
        moments_.back() = line.told;
      }
    }
  }

  [[nodiscard]] const std::vector<CauseLine>& moments() const { return moments_; }
  /// The scenario does something in the course of the run.
  [[nodiscard]] bool interferes() const {
    return !scenario_.timeline.empty() || scenario_.core ||
           std::any_of(scenario_.cluster.nodes.begin(), scenario_.cluster.nodes.end(),
                       [](const scenario::NodePlan& node) { return starts_after(node, {}); });
  }

  /// Some of moments(): the first, the last, all faults, and others between them, none of them
  /// within a millisecond of another.
  [[nodiscard]] std::vector<std::size_t> places(std::size_t most) const {
    std::vector<std::size_t> apart{0};
    for (std::size_t i = 1; i < moments_.size(); ++i) {
      if (moments_[i].at - moments_[apart.back()].at >= 1ms) {
        apart.push_back(i);
      } else if (apart.back() > 0 && !is_fault(apart.back())) {
        apart.back() = i;
      }
    }
    std::set<std::size_t> chosen;
    for (std::size_t i = 1; i < apart.size(); ++i) {
      if (chosen.size() < most / 2 && is_fault(apart[i])) {
        chosen.insert({apart[i], apart[i - 1]});
      }
    }
    const std::size_t rest = std::max<std::size_t>(2, most - std::min(most, chosen.size()));
    for (std::size_t i = 0; i < rest; ++i) {
      chosen.insert(apart[i * (apart.size() - 1) / (rest - 1)]);
    }
    return {chosen.begin(), chosen.end()};
  }

  Share share(sim::WorldTime after, bool faults) {
    const auto [known, fresh] = shares_.try_emplace({after, faults});
    if (!fresh) return known->second;
    const scenario::Scenario future = faults ? scenario_ : quiet_after(after);
    for (std::size_t i = 0; i < options_.futures && !options_.stopped(); ++i) {
      scenario::RunOptions run_options = plain();
      run_options.fork = scenario::Fork{after, i + 1};
      const scenario::RunReport report = run_(future, run_options);
      ++known->second.runs;
      if (violation_of(report, options_.target) != nullptr) ++known->second.failed;
    }
    return known->second;
  }

  /// The first moment after `low` from which it is certain, given that it is from `high` on.
  std::size_t first_certain(std::size_t low, std::size_t high, bool faults) {
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (share(moments_[middle].at, faults).certain() ? high : low) = middle;
    }
    return high;
  }

 private:
  [[nodiscard]] bool is_fault(std::size_t moment) const {
    return moments_[moment].what.starts_with(kFaultMark);
  }
  [[nodiscard]] scenario::RunOptions plain() const {
    scenario::RunOptions run_options;
    run_options.determinism_check = false;
    run_options.plugins = options_.plugins;
    return run_options;
  }
  static bool starts_after(const scenario::NodePlan& node, sim::WorldTime moment) {
    return node.start && *node.start > moment.time_since_epoch();
  }
  /// Without the entries that had not acted by then, and the agents that had not started.
  [[nodiscard]] scenario::Scenario quiet_after(sim::WorldTime after) const {
    scenario::Scenario quiet = scenario_;
    for (scenario::NodePlan& node : quiet.cluster.nodes) {
      if (starts_after(node, after)) node.start.reset();
    }
    if (quiet.core && sim::WorldTime(quiet.core->at) > after) quiet.core.reset();
    quiet.timeline.clear();
    for (std::size_t i = 0; i < scenario_.timeline.size(); ++i) {
      const auto acted = acted_.find(i);
      if (acted != acted_.end() && acted->second <= after) {
        quiet.timeline.push_back(scenario_.timeline[i]);
      }
    }
    return quiet;
  }

  const scenario::Scenario& scenario_;
  const ExplainOptions& options_;
  const RunScenario& run_;
  std::map<std::size_t, sim::WorldTime> acted_;
  std::vector<CauseLine> moments_;
  std::map<std::pair<sim::WorldTime, bool>, Share> shares_;
};

std::optional<CauseLine> turning_point(FutureSampler& sampler,
                                       const std::vector<std::size_t>& places, bool faults) {
  const std::vector<CauseLine>& moments = sampler.moments();
  std::size_t first = places.size();
  while (first > 0 && sampler.share(moments[places[first - 1]].at, faults).certain()) --first;
  if (first == places.size()) return std::nullopt;
  if (first == 0) return moments[places[0]];
  return moments[sampler.first_certain(places[first - 1], places[first], faults)];
}

}  // namespace

NoReturn find_point_of_no_return(const scenario::Scenario& scenario, sim::WorldTime failure,
                                 const ExplainOptions& options, const RunScenario& run) {
  FutureSampler sampler(scenario, options, run);
  sampler.live(failure);
  const std::vector<CauseLine>& moments = sampler.moments();
  const std::vector<std::size_t> places = sampler.places(options.moments);
  NoReturn out;
  for (const std::size_t place : places) {
    const sim::WorldTime moment = moments[place].at;
    const Futures futures{moment, sampler.share(moment, true),
                          sampler.interferes() ? sampler.share(moment, false) : Share()};
    if (options.stopped()) break;  // within it: a share of fewer runs says less
    out.futures.push_back(futures);
  }
  if (!options.stopped()) out.as_it_goes_on = turning_point(sampler, places, true);
  if (!options.stopped() && sampler.interferes()) {
    out.left_alone = turning_point(sampler, places, false);
  }
  if (options.stopped()) {
    out.complete = false;
    out.as_it_goes_on.reset();
    out.left_alone.reset();
  }
  return out;
}

}  // namespace hooke::hunt
