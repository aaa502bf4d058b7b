// Most candidates are edits of the scenario's JSON text: the loader says which of them are
// scenarios. Only what must change in several places at once knows the format: nodes and choices.
#include "scenarios/hunt/simplifications.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "scenarios/format/duration.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;
using scenario::Scenario;
using Pointer = ordered_json::json_pointer;

constexpr std::array<sim::Duration, 14> kSpans{1s,   2s,   5s,    10s,   20s,   30s, 60s,
                                               2min, 5min, 10min, 20min, 30min, 1h,  2h};

/// Delta debugging: `drop(first, count)` for all of `size()` elements, halves, quarters, single
/// ones; what it takes away (true) is gone.
void drop_chunks(const std::function<std::size_t()>& size,
                 const std::function<bool(std::size_t first, std::size_t count)>& drop) {
  for (std::size_t chunk = size(); chunk > 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    for (std::size_t first = 0; first < size();) {
      if (!drop(first, std::min(chunk, size() - first))) first += chunk;
    }
  }
}

/// More names say less than their number.
constexpr std::size_t kNamesMax = 4;

// ---- lines --------------------------------------------------------------------------------------

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

std::string name_of_place(const Pointer& place) {
  const std::string text = place.to_string();
  return text.empty() ? "scenario" : text.substr(1);
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

/// Every value that is no list and no object, below `place`.
void leaves_below(const ordered_json& json, const Pointer& place, std::vector<Pointer>& out) {
  if (!json.is_structured()) return out.push_back(place);
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    leaves_below(value, json.is_array() ? place / index++ : place / key, out);
  }
}

// ---- numbers ------------------------------------------------------------------------------------

/// `number` with only its first `digits` digits, down and up.
std::array<std::int64_t, 2> rounded(std::int64_t number, int digits) {
  std::int64_t unit = 1;
  for (std::int64_t rest = number; rest >= 10; rest /= 10) unit *= 10;
  for (int i = 1; i < digits && unit > 1; ++i) unit /= 10;
  const std::int64_t down = number / unit * unit;
  return {down, down + unit};
}

/// Largest whole units first, so that 90 s become 80 s or 100 s and not 1 m or 2 m.
sim::Duration unit_of(sim::Duration span) {
  for (const sim::Duration unit : {sim::Duration(1s), sim::Duration(1ms), sim::Duration(1us)}) {
    if (span >= unit) return unit;
  }
  return 1ns;
}

std::vector<sim::Duration> rounded_spans(sim::Duration span) {
  const sim::Duration unit = unit_of(span);
  std::vector<sim::Duration> out;
  for (const int digits : {1, 2, 3}) {
    for (const std::int64_t count : rounded(span / unit, digits)) out.push_back(unit * count);
  }
  return out;
}

std::string text_of_value(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool put(ShrinkSearch& search, const std::vector<Pointer>& places, const ordered_json& value) {
  ordered_json candidate = search.json();
  const std::string before = text_of_value(candidate.at(places.front()));
  std::vector<std::string> names;
  for (const Pointer& place : places) {
    candidate.at(place) = value;
    names.push_back(name_of_place(place));
  }
  return search.attempt(candidate, fmt::format("{} {} instead of {}", fmt::join(names, ", "),
                                               text_of_value(value), before));
}

void lower_integer(ShrinkSearch& search, const Pointer& place, std::int64_t number) {
  const std::int64_t sign = number < 0 ? -1 : 1;
  const std::int64_t size = number * sign;
  std::vector<std::int64_t> sizes{0, 1, 2, size / 2, size - 1};
  for (const int digits : {1, 2}) {
    for (const std::int64_t round : rounded(size, digits)) sizes.push_back(round);
  }
  for (const std::int64_t candidate : sizes) {
    if (candidate != size && put(search, {place}, candidate * sign)) return;
  }
}

/// The shortest of the usual spans that still does; where a longer one fails, a shorter one mostly
/// does, too.
bool shorten(ShrinkSearch& search, const std::vector<Pointer>& places, sim::Duration span) {
  const auto try_span = [&](sim::Duration shorter) {
    return put(search, places, scenario::duration_text(shorter));
  };
  const auto end = std::lower_bound(kSpans.begin(), kSpans.end(), span);
  auto low = kSpans.begin();
  if (low == end) return false;
  if (try_span(*low)) return true;
  auto high = end;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (try_span(*middle) ? high : low) = middle;
  }
  return high != end;
}

/// Places whose spans are part of the story, not settings.
bool tells_the_story(const std::string& place) {
  return place.starts_with("/timeline/") || place.starts_with("/workers/program/") ||
         place.starts_with("/workers/overrides/") || place.starts_with("/cluster/nodes/") ||
         place == "/core/at" || place == "/time_limit";
}

void lower_span(ShrinkSearch& search, const Pointer& place, sim::Duration span) {
  const bool negative = span < sim::Duration::zero();
  if (!negative && tells_the_story(place.to_string()) && shorten(search, {place}, span)) return;
  for (const sim::Duration round : rounded_spans(negative ? -span : span)) {
    if (put(search, {place}, scenario::duration_text(negative ? -round : round))) return;
  }
}

/// Times that are equal mean one moment, and often the failure needs just that: they are lowered
/// together before any is lowered alone.
void lower_moments(ShrinkSearch& search, const std::vector<Pointer>& leaves) {
  std::map<sim::Duration, std::vector<Pointer>> moments;
  for (const Pointer& place : leaves) {
    const ordered_json& leaf = search.json().at(place);
    if (!tells_the_story(place.to_string()) || !leaf.is_string() || digits_of(leaf) == 0) continue;
    moments[*scenario::parse_duration(leaf.get_ref<const std::string&>())].push_back(place);
  }
  for (const auto& [span, places] : moments) {
    if (places.size() > 1) shorten(search, places, span);
  }
}

// ---- nodes --------------------------------------------------------------------------------------

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Without the names; nullopt when they were all that the entry was about.
std::optional<scenario::TimelineEntry> entry_without(scenario::TimelineEntry entry,
                                                     const std::vector<std::string>& gone) {
  if (is_among(gone, entry.trigger.on_node)) return std::nullopt;
  for (std::vector<std::string>* const names : {&entry.from, &entry.to}) {
    const bool named = !names->empty();
    std::erase_if(*names, [&](const std::string& name) { return is_among(gone, name); });
    if (named && names->empty()) return std::nullopt;
  }
  return entry;
}

Scenario without_nodes(const Scenario& from, const std::vector<std::string>& gone) {
  Scenario out = from;
  std::erase_if(out.cluster.nodes,
                [&](const scenario::NodePlan& node) { return is_among(gone, node.id); });
  if (is_among(gone, out.cluster.store_host) && !out.cluster.nodes.empty()) {
    out.cluster.store_host = out.cluster.nodes.front().id;
  }
  out.timeline.clear();
  for (const scenario::TimelineEntry& entry : from.timeline) {
    if (auto kept = entry_without(entry, gone)) out.timeline.push_back(std::move(*kept));
  }
  if (out.core) {
    std::erase_if(out.core->nodes, [&](const std::string& name) { return is_among(gone, name); });
    if (out.core->nodes.empty()) out.core.reset();
  }
  std::erase_if(out.workers.overrides, [&](const auto& override_program) {
    return is_among(gone, override_program.first.substr(0, override_program.first.find('/')));
  });
  return out;
}

bool drop_these_nodes(ShrinkSearch& search, std::size_t first, std::size_t count) {
  const Scenario& best = search.scenario();
  std::vector<std::string> gone;
  for (std::size_t i = first; i < first + count; ++i) gone.push_back(best.cluster.nodes[i].id);
  Scenario candidate = without_nodes(best, gone);
  const std::string what =
      count > kNamesMax
          ? fmt::format("without {} nodes from {} to {}", count, gone.front(), gone.back())
          : fmt::format("without the node{} {}", count > 1 ? "s" : "", fmt::join(gone, ", "));
  const auto left = static_cast<std::int64_t>(candidate.cluster.nodes.size());
  if (left == 0) return false;
  scenario::RendezvousPlan& sizes = candidate.protocol.rendezvous;
  const scenario::RendezvousPlan before = sizes;
  sizes.max_nodes = std::max<std::int64_t>(1, before.max_nodes - static_cast<std::int64_t>(count));
  sizes.min_nodes = std::clamp<std::int64_t>(before.min_nodes - static_cast<std::int64_t>(count), 1,
                                             sizes.max_nodes);
  if (search.attempt(candidate, what)) return true;
  sizes.max_nodes = before.max_nodes;
  sizes.min_nodes = std::min(before.min_nodes, left);
  if (search.attempt(candidate, what)) return true;
  sizes = before;
  return search.attempt(candidate, what);
}

// ---- choices ------------------------------------------------------------------------------------

constexpr std::uint64_t kSeedsTried = 6;
/// A tape of more choices than that says less than a seed.
constexpr std::size_t kNamedChoicesMax = 8;

void calm_seed(ShrinkSearch& search) {
  for (std::uint64_t seed = 0; seed < kSeedsTried; ++seed) {
    Scenario candidate = search.scenario();
    candidate.seed = seed;
    candidate.tape.reset();
    if (search.attempt(candidate, fmt::format("seed {}", seed))) return;
  }
}

bool drop_choices(ShrinkSearch& search, const std::string& what,
                  const std::function<bool(const kernel::RecordedChoice&, std::size_t)>& gone) {
  Scenario candidate = search.scenario();
  kernel::Tape kept;
  for (std::size_t i = 0; i < candidate.tape->size(); ++i) {
    if (!gone((*candidate.tape)[i], i)) kept.push_back((*candidate.tape)[i]);
  }
  const std::size_t count = candidate.tape->size() - kept.size();
  candidate.tape = std::move(kept);
  return search.attempt(candidate, fmt::format("without {} choices{}", count, what));
}

void shrink_tape(ShrinkSearch& search) {
  if (drop_choices(search, "", [](const auto&, std::size_t) { return true; })) return;
  std::set<std::string> purposes;
  for (const kernel::RecordedChoice& choice : *search.scenario().tape) {
    purposes.insert(choice.purpose);
  }
  for (const std::string& purpose : purposes) {
    drop_choices(search, " of " + purpose, [&](const kernel::RecordedChoice& choice, std::size_t) {
      return choice.purpose == purpose;
    });
  }
  drop_chunks([&] { return search.scenario().tape->size(); },
              [&](std::size_t first, std::size_t count) {
                return drop_choices(search, "", [&](const auto&, std::size_t i) {
                  return i >= first && i < first + count;
                });
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
    if (search.step_aside(candidate, "cut at " + scenario::duration_text(limit))) return;
  }
}

void leave_broken(ShrinkSearch& search) {
  if (!search.scenario().core) return;
  Scenario candidate = search.scenario();
  candidate.core.reset();
  search.attempt(candidate, "without the core");
}

void calm_choices(ShrinkSearch& search) {
  if (search.scenario().schedule != kernel::Schedule()) {
    for (const bool with_tape : {false, true}) {
      Scenario candidate = search.scenario();
      candidate.schedule = {};
      if (!with_tape) candidate.tape.reset();
      if (search.attempt(candidate, "first in, first out")) break;
    }
  }
  const Scenario& best = search.scenario();
  if (best.tape) {
    Scenario candidate = best;
    candidate.tape.reset();
    search.attempt(candidate, "without the tape");
  }
  if (best.tape || best.seed >= kSeedsTried) calm_seed(search);
  if (best.tape) shrink_tape(search);
}

void name_choices(ShrinkSearch& search) {
  if (search.scenario().schedule == kernel::Schedule() || search.scenario().tape) return;
  const ShrinkSearch::Best before = search.best();
  const std::optional<kernel::Tape> tape = search.record();
  if (!tape) return;
  Scenario candidate = search.scenario();
  candidate.tape = tape;
  if (search.step_aside(candidate, "the choices by name")) shrink_tape(search);
  if (search.scenario().tape && search.scenario().tape->size() > kNamedChoicesMax) {
    search.go_back(before);
  }
}

void drop_timeline(ShrinkSearch& search) {
  drop_children(search, "/timeline"_json_pointer);
}

void drop_nodes(ShrinkSearch& search) {
  drop_chunks(
      [&] { return search.scenario().cluster.nodes.size(); },
      [&](std::size_t first, std::size_t count) { return drop_these_nodes(search, first, count); });
}

void join_variants(ShrinkSearch& search) {
  Scenario candidate = search.scenario();
  std::vector<scenario::NodePlan>& nodes = candidate.cluster.nodes;
  const model::Variant first = candidate.variant_of(nodes.front());
  const bool same = std::all_of(nodes.begin(), nodes.end(), [&](const scenario::NodePlan& node) {
    return search.scenario().variant_of(node) == first;
  });
  if (!same) return;
  candidate.protocol.variant = first;
  for (scenario::NodePlan& node : nodes) node.variant.reset();
  if (candidate != search.scenario()) search.step_aside(candidate, "one variant for all");
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

void lower_numbers(ShrinkSearch& search) {
  std::vector<Pointer> leaves;
  leaves_below(search.json(), Pointer(), leaves);
  lower_moments(search, leaves);
  for (const Pointer& place : leaves) {
    if (search.over()) return;
    const std::string text = place.to_string();
    if (text == "/seed" || text == "/version" || !search.json().contains(place)) continue;
    const ordered_json leaf = search.json().at(place);
    if (leaf.is_number_integer()) {
      lower_integer(search, place, leaf.get<std::int64_t>());
    } else if (leaf.is_string() && digits_of(leaf) > 0) {
      lower_span(search, place, *scenario::parse_duration(leaf.get<std::string>()));
    }
  }
  // A round that must be full: neither size can be lowered alone.
  for (std::int64_t size = 1; size < search.scenario().protocol.rendezvous.max_nodes; ++size) {
    Scenario candidate = search.scenario();
    candidate.protocol.rendezvous.min_nodes = candidate.protocol.rendezvous.max_nodes = size;
    if (search.attempt(candidate, fmt::format("rounds of {}", size))) break;
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
