// Candidates are edits of the scenario's JSON text: the loader says which of them are scenarios.
// Nodes, numbers and choices, which change in several places at once, have files of their own.
#include "scenarios/hunt/simplifications.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/duration.h"
#include "scenarios/hunt/simplification_steps.h"

namespace hooke::hunt {
namespace {

using nlohmann::ordered_json;
using scenario::Scenario;

/// What a person would call an element of a list.
std::string name_of_item(const ordered_json& item) {
  if (item.is_string()) return item.get<std::string>();
  if (item.is_object()) {
    for (const char* key : {"do", "id"}) {
      if (item.contains(key) && item[key].is_string()) return item[key].get<std::string>();
    }
    if (!item.empty()) return item.begin().key();
  }
  return item.dump();
}

/// Removes elements of the list or members of the object at `place`; says which.
std::string take_out(ordered_json& json, const Pointer& place, std::size_t first,
                     std::size_t count) {
  ordered_json& from = json.at(place);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const auto victim = std::next(from.begin(), static_cast<std::ptrdiff_t>(first));
    names.push_back(from.is_array() ? name_of_item(*victim) : victim.key());
    from.erase(victim);
  }
  if (names.size() > kNamesMax)
    return fmt::format("without {} of {}", names.size(), name_of_place(place));
  return fmt::format("without {} ({})", fmt::join(names, ", "), name_of_place(place));
}

void drop_children(ShrinkSearch& search, const Pointer& place) {
  const auto size = [&] {
    return search.json().contains(place) ? search.json().at(place).size() : 0;
  };
  drop_chunks(size, [&](std::size_t first, std::size_t count) {
    ordered_json candidate = search.json();
    const std::string what = take_out(candidate, place, first, count);
    // A limit is no part of the failure, and looked at by itself.
    if (place.empty() && candidate.contains("time_limit") != search.json().contains("time_limit"))
      return false;
    if (candidate.value("/protocol/variant"_json_pointer, "") !=
        search.json().value("/protocol/variant"_json_pointer, ""))
      return false;
    return search.attempt(candidate, what);
  });
}

}  // namespace

void cut_after_failure(ShrinkSearch& search) {
  const properties::Violation* const violation = search.violation();
  if (violation == nullptr) return;
  const sim::Duration until = violation->at.time_since_epoch();
  for (const sim::Duration limit : kSpans) {
    if (limit <= until || limit >= search.scenario().time_limit) continue;
    Scenario candidate = search.scenario();
    candidate.time_limit = limit;
    std::erase_if(candidate.timeline, [limit](const scenario::TimelineEntry& entry) {
      return entry.trigger.at && *entry.trigger.at > limit;
    });
    for (scenario::NodePlan& node : candidate.cluster.nodes) {
      if (node.start && *node.start > limit) node.start.reset();
    }
    if (search.step_aside(candidate, "cut at " + scenario::duration_text(limit))) return;
  }
}

void leave_broken(ShrinkSearch& search) {
  if (!search.scenario().core) return;
  Scenario candidate = search.scenario();
  candidate.core.reset();
  search.attempt(candidate, "without the core");
}

void drop_timeline(ShrinkSearch& search) {
  drop_children(search, "/timeline"_json_pointer);
}

void drop_lines(ShrinkSearch& search) {
  std::vector<Pointer> places{Pointer()};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Pointer place = places[i];
    drop_children(search, place);
    if (!search.json().contains(place)) continue;
    const ordered_json& now = search.json().at(place);
    std::size_t index = 0;
    for (const auto& [key, value] : now.items()) {
      const Pointer below = now.is_array() ? place / index++ : place / key;
      if (value.is_structured()) places.push_back(below);
    }
  }
}

void replace_programs(ShrinkSearch& search) {
  std::vector<Pointer> places{"/workers/program"_json_pointer};
  for (const auto& [key, program] : search.scenario().workers.overrides) {
    places.push_back("/workers/overrides"_json_pointer / key);
  }
  for (const Pointer& place : places) {
    for (const ordered_json& program :
         {ordered_json::array({{{"exit", 0}}}), ordered_json::array({{{"run", "10s"}}}),
          ordered_json::array({{{"run", "1h"}}})}) {
      if (!search.json().contains(place)) break;
      if (put(search, {place}, program)) break;
    }
  }
}

void replace_triggers(ShrinkSearch& search) {
  for (std::size_t i = 0; i < search.scenario().timeline.size(); ++i) {
    const RunNotes notes = search.notes();
    const auto acted = notes.acted.find(i);
    if (acted == notes.acted.end()) continue;
    const auto with = [&](const scenario::Trigger& trigger, const std::string& what) {
      Scenario candidate = search.scenario();
      candidate.timeline[i].trigger = trigger;
      return search.attempt(candidate, fmt::format("{} {}", candidate.timeline[i].what, what));
    };
    if (!search.scenario().timeline[i].trigger.at) {
      std::vector<sim::Duration> times = rounded_spans(acted->second);
      times.push_back(acted->second);
      for (const sim::Duration at : times) {
        scenario::Trigger trigger;
        trigger.at = at;
        if (with(trigger, "at " + scenario::duration_text(at))) break;
      }
      continue;
    }
    // A round time is as good as an event. Of the kinds of event that began before an odd one, the
    // earlier have less to do with it.
    constexpr std::uint64_t kOddDigits = 3;
    constexpr int kEventsTried = 5;
    const sim::Duration at = *search.scenario().timeline[i].trigger.at;
    if (digits_of(ordered_json(scenario::duration_text(at))) < kOddDigits) continue;
    int tried = 0;
    for (auto event = notes.first_events.rbegin(); event != notes.first_events.rend(); ++event) {
      if (event->second > acted->second) continue;
      if (++tried > kEventsTried) break;
      scenario::Trigger trigger;
      trigger.event = event->first;
      if (with(trigger, "when " + event->first)) break;
    }
  }
}

void drop_time_limit(ShrinkSearch& search) {
  constexpr std::uint64_t kLongerMax = 3;
  ordered_json candidate = search.json();
  if (candidate.erase("time_limit") == 0) return;
  search.attempt_within(kLongerMax, candidate, "without a time limit");
}

void order_timeline(ShrinkSearch& search) {
  Scenario candidate = search.scenario();
  std::stable_sort(candidate.timeline.begin(), candidate.timeline.end(),
                   [](const scenario::TimelineEntry& one, const scenario::TimelineEntry& other) {
                     constexpr sim::Duration later = sim::Duration::max();
                     return one.trigger.at.value_or(later) < other.trigger.at.value_or(later);
                   });
  if (candidate != search.scenario()) search.step_aside(candidate, "the timeline in order");
}

}  // namespace hooke::hunt
