#pragma once
// The state of a shrinker's search: the best scenario so far, what was tried, and what it cost.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/hunt/shrinker.h"

namespace hooke::hunt {

/// What a reader of a scenario has to take in; the first difference decides.
struct Burden {
  std::uint64_t choices = 0;    ///< recorded ones, and a schedule that is not first in, first out
  std::uint64_t lines = 0;      ///< values in the file
  std::uint64_t digits = 0;     ///< those of its numbers and durations, but for zeros at their ends
  std::uint64_t magnitude = 0;  ///< sum of the numbers that say how long and how often
  friend auto operator<=>(const Burden&, const Burden&) = default;
};

/// Of a scenario as written, without its tape.
Burden burden_of(const nlohmann::ordered_json& json, const std::optional<kernel::Tape>& tape);

/// Significant digits of a number or a duration as written: 3 for 3217 and "321ms", 1 for "30s".
std::uint64_t digits_of(const nlohmann::ordered_json& leaf);

/// What of a run its successors are made from.
struct RunNotes {
  std::map<std::size_t, sim::Duration> acted;  ///< first time of each entry of the timeline
  std::vector<std::pair<std::string, sim::Duration>> first_events;  ///< the first of each kind
};

class ShrinkSearch {
 public:
  /// Runs the start, unless the options say how that went; its expectations, references and
  /// description do not take part in the search.
  ShrinkSearch(const scenario::Scenario& start, const ShrinkOptions& options,
               const RunScenario& run);

  /// The start failed as the target says; without that there is nothing else to ask for.
  [[nodiscard]] bool failed() const { return failed_; }
  /// The budget is used up: attempts are refused from now on.
  [[nodiscard]] bool over() const { return over_; }

  [[nodiscard]] const scenario::Scenario& scenario() const { return best_.scenario; }
  /// The best scenario as written, without its tape.
  [[nodiscard]] const nlohmann::ordered_json& json() const { return best_.json; }
  [[nodiscard]] const scenario::RunReport& report() const { return best_.report; }
  [[nodiscard]] const RunNotes& notes() const { return best_.notes; }
  /// The violation that is the target's; null when the target is a failure of hooke's own.
  [[nodiscard]] const properties::Violation* violation() const;
  [[nodiscard]] std::size_t runs() const { return runs_; }
  [[nodiscard]] const std::vector<ShrinkStep>& steps() const { return steps_; }

  /// Takes the candidate if it is valid, simpler, and fails alike; its tape is the best one's.
  bool attempt(const nlohmann::ordered_json& candidate, const std::string& what);
  bool attempt(const scenario::Scenario& candidate, const std::string& what);
  /// Takes what is not simpler, too: a step aside from which more can follow.
  bool step_aside(const scenario::Scenario& candidate, const std::string& what);
  /// Like attempt, but no run may take more than `factor` times the steps of the best one's.
  bool attempt_within(std::uint64_t factor, const nlohmann::ordered_json& candidate,
                      const std::string& what);

  /// The choices of the best scenario's run; nullopt when the budget is used up.
  std::optional<kernel::Tape> record();

  /// To go back when a step aside has led nowhere.
  struct Best {
    scenario::Scenario scenario;
    nlohmann::ordered_json json;
    Burden burden;
    scenario::RunReport report;
    RunNotes notes;
  };
  [[nodiscard]] const Best& best() const { return best_; }
  void go_back(Best best);

 private:
  enum class Gain : unsigned char { needed, waived };
  /// The scenario that the loader makes of the text, written again.
  std::optional<std::pair<scenario::Scenario, nlohmann::ordered_json>> loaded(
      const std::string& text) const;
  bool take(const std::string& text, const std::optional<kernel::Tape>& tape, Gain gain,
            std::uint64_t steps_max, const std::string& what);
  [[nodiscard]] bool out_of_budget();
  scenario::RunReport run(const scenario::Scenario& scenario, std::uint64_t steps_max,
                          RunNotes& notes, bool record);
  [[nodiscard]] bool fails_alike(const scenario::RunReport& report) const;

  const ShrinkOptions& options_;
  const RunScenario& run_;
  Best best_;
  bool failed_ = false;
  bool over_ = false;
  std::size_t runs_ = 0;
  std::uint64_t steps_max_ = 0;  ///< of a run: much more than the start's shows nothing worth it
  std::set<std::string> tried_;
  std::vector<ShrinkStep> steps_;
};

}  // namespace hooke::hunt
