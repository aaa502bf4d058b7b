#include "scenarios/outcome/timeline_log.h"

#include <fmt/format.h>

#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

std::string in_seconds(sim::WorldTime at) {
  return fmt::format("{:.3f} s", static_cast<double>(at.time_since_epoch().count()) / 1e9);
}

}  // namespace

std::vector<NeverHappened> TimelineLog::never_happened(sim::WorldTime end) const {
  std::vector<NeverHappened> out;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const TimelineEntry& entry = entries_[i];
    const Trigger& trigger = entry.trigger;
    const Note& note = notes_[i];
    const std::int64_t wanted = entry.every ? entry.times : 1;
    if (note.acted >= wanted) continue;
    std::string why =
        note.acted == 0 ? "" : fmt::format("it happened {} of {} times; ", note.acted, wanted);
    if (note.due) {
      why +=
          fmt::format("due at {}, but the run ended at {}", in_seconds(*note.due), in_seconds(end));
    } else {
      HOOKE_CHECK(trigger.event || trigger.fault_point, "what has a time is due");
      const std::string what =
          trigger.event ? *trigger.event : "the fault point " + *trigger.fault_point;
      why += fmt::format("{}{} was met {} of {} times", what,
                         trigger.on_node.empty() ? "" : " on " + trigger.on_node, note.met,
                         trigger.passage);
    }
    out.push_back({i, entry.what, std::move(why)});
  }
  return out;
}

}  // namespace hooke::scenario
