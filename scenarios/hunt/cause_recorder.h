#pragma once
// A run as a list of what matters in it, each with its cause.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/hunt/explainer.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::hunt {

/// Keeps of a run what a person would tell, and its causes.
class CauseRecorder final : public kernel::TraceSink {
 public:
  struct Line {
    std::uint64_t event = 0;
    CauseLine told;
    bool fault = false;  ///< the timeline did it
    bool late = false;   ///< a worker writes to a store although its round is over
    /// What the store knows of an agent's end by it: the machine of that agent.
    std::string parted;
  };

  /// `phrase` is given every event, in order; `node_names` in the order of the scenario.
  CauseRecorder(std::function<std::string(const sim::Event&)> phrase,
                std::vector<std::string> node_names)
      : phrase_(std::move(phrase)), node_names_(std::move(node_names)) {}
  void on_event(const sim::Event& event) override;

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return node_names_; }
  /// The events from which `violation` follows, and, where an invariant is violated by silence, the
  /// last ones of those that it names; the timeline's doings among them.
  [[nodiscard]] CausalStory story_of(const properties::Violation& violation) const;
  /// Places in lines() of the told events among `event` and all it descends from, latest first.
  [[nodiscard]] std::vector<std::size_t> ancestry(std::uint64_t event) const;

 private:
  const std::function<std::string(const sim::Event&)> phrase_;
  std::vector<std::string> node_names_;
  std::vector<std::uint64_t> parents_;        ///< by event number
  std::vector<Line> lines_;                   ///< in order of their events
  std::optional<sim::WorldTime> last_fault_;  ///< when the timeline did something
};

/// The violation of the run that is the target's; null when there is none.
const properties::Violation* violation_of(const scenario::RunReport& report,
                                          const FailureKind& target);

}  // namespace hooke::hunt
