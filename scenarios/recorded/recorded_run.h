#pragma once
// Judges what happened for real by the invariants that judge a simulated run.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/outcome/report.h"
#include "scenarios/recorded/recorded_events.h"

namespace hooke::scenario {

/// Whether such files show enough to judge that invariant.
bool is_judged(const Evidence& evidence, std::string_view invariant);

/// Invariants that the files cannot judge, and what they would need.
struct NotJudged {
  std::string reason;
  std::vector<std::string> invariants;
};
std::vector<NotJudged> not_judged(const Evidence& evidence,
                                  const properties::InvariantRegistry& invariants);

/// Plays `events` to the invariants and to `sinks`. Judged as of `end`, since its first event; as of
/// its own end without one, and never as of an earlier time. Hash, steps and faults of the timeline
/// stay empty. Only what is_judged() is in the report. ScenarioError as RecordedEvents::play has it.
RunReport judge_recording(RecordedEvents& events, const properties::InvariantRegistry& invariants,
                          const std::vector<kernel::TraceSink*>& sinks,
                          std::optional<sim::WorldTime> end);

}  // namespace hooke::scenario
