#pragma once
// Why a run fails, told in three ways: the events that led to it, the moment from which it could no
// longer be averted, and what would have averted it. A violation alone says what was broken;
// these are the next questions of an engineer at work on a mend.
//
// All three are measured, never guessed: the story follows the causes on the trace, the moment is
// found by living the same past with other futures, and a change counts only when its runs hold.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/hunt/failure.h"
#include "scenarios/hunt/shrinker.h"
#include "scenarios/simulated/runner.h"

namespace hooke::hunt {

struct ExplainOptions {
  FailureKind target;        ///< what is explained; kinds_of the scenario's run contains it
  std::size_t moments = 12;  ///< from how many moments other futures begin
  std::size_t futures = 10;  ///< how many from each
  std::size_t worlds = 5;    ///< other seeds under which a change must hold, too
  /// What a person would say of an event; empty for those that only machines care about.
  std::function<std::string(const sim::Event&)> phrase;
  model::Plugins plugins;
  /// True: time to stop; what is found by then is the answer. Empty: never.
  std::function<bool()> enough;
  [[nodiscard]] bool stopped() const { return enough && enough(); }
};

/// One thing that happened, or the same thing several times.
struct CauseLine {
  sim::WorldTime at{};
  std::string node;  ///< empty: the scenario itself
  std::string what;
  std::size_t times = 1;
  sim::WorldTime until{};  ///< the last time; `at` when there is no other
  friend bool operator==(const CauseLine&, const CauseLine&) = default;
};

/// How often it failed out of so many runs.
struct Share {
  std::size_t failed = 0;
  std::size_t runs = 0;
  [[nodiscard]] bool certain() const { return runs > 0 && failed * 10 >= runs * 9; }
  friend bool operator==(const Share&, const Share&) = default;
};

/// Other futures of the past up to a moment. No agent is left alone whose scenario does nothing in
/// the course of the run: no runs, then.
struct Futures {
  sim::WorldTime moment{};
  Share as_it_goes_on;  ///< what is drawn is drawn anew, the scenario does what it does
  Share left_alone;     ///< likewise, but the scenario does nothing more and starts no agent
  friend bool operator==(const Futures&, const Futures&) = default;
};

struct NoReturn {
  std::vector<Futures> futures;  ///< in order of time, the first from the beginning
  /// From then on it fails in nine of ten futures or more, with what happened just then; nullopt:
  /// no moment before the failure itself.
  std::optional<CauseLine> as_it_goes_on, left_alone;
  bool complete = true;  ///< false: stopped before it was known
};

/// What a change turns, the easiest to do first: what a user of stock PyTorch can set, what his
/// agents are, what happens to the job.
enum class Lever : unsigned char { setting, agents, scenario };

/// A change of the scenario by which the invariant holds in all worlds that were tried.
struct Counterfactual {
  std::string change;  ///< "last_call 60s instead of 30s"
  Lever lever{};
  Share before, after;  ///< how often the invariant is violated, over the same seeds
  std::vector<std::string> broken_instead;  ///< invariants that only the changed runs break
};

struct CausalStory {
  std::string witness;
  sim::WorldTime at{};
  std::vector<CauseLine> lines;
};

/// The events from which the violation follows, and, where an invariant is violated by silence, the
/// last ones of those that it names; the timeline's doings among them. nullopt when the run does
/// not fail as the target says.
std::optional<CausalStory> causes_of_failure(const scenario::Scenario& scenario,
                                             const ExplainOptions& options, const RunScenario& run);

/// `failure`: when the invariant was violated.
NoReturn find_point_of_no_return(const scenario::Scenario& scenario, sim::WorldTime failure,
                                 const ExplainOptions& options, const RunScenario& run);

/// All single changes that avert the failure: settings, then agents, then what happens to the job;
/// those by which something else is violated come last.
std::vector<Counterfactual> find_counterfactuals(const scenario::Scenario& scenario,
                                                 const ExplainOptions& options,
                                                 const RunScenario& run);

}  // namespace hooke::hunt
