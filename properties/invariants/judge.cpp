// Times as text, and deadlines that faults put off.
#include "properties/invariants/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace hooke::properties {

std::string seconds_text(sim::Duration span) {
  const std::int64_t ms = span.count() / 1'000'000;
  return fmt::format("{}.{:03} s", ms / 1000, ms % 1000);
}

std::string seconds_text(sim::WorldTime at) {
  return seconds_text(at.time_since_epoch());
}

std::optional<sim::WorldTime> deadline_of(const Due& due, const JobView& view, bool excused) {
  // No clock of a simulated machine is wrong by more than a tenth.
  const sim::Duration bound = due.bound + (view.one_drifts() ? due.bound / 10 : sim::Duration());
  sim::WorldTime deadline = due.since + bound;
  const auto& instants = view.fault_instants();
  for (auto at = std::upper_bound(instants.begin(), instants.end(), due.since);
       at != instants.end(); ++at) {
    if (*at > deadline) break;
    deadline = *at + bound;
  }
  if (!excused) return deadline;
  // In order of beginning: one disturbance may put the deadline off into the next.
  for (const Fault& fault : view.faults()) {
    if (!fault.disturbance || fault.begin > deadline || (fault.end && *fault.end < due.since))
      continue;
    if (!fault.end && fault.kind == kStoreGone) continue;  // to give up is possible without
    if (!fault.end) return std::nullopt;
    deadline = std::max(deadline, *fault.end + bound);
  }
  return deadline;
}

}  // namespace hooke::properties
