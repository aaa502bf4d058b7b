// Outcomes and counts of nodes and rounds, then patterns of invariants and events.
#include "scenarios/format/expectation_loader.h"

#include <algorithm>
#include <functional>
#include <set>

#include "properties/invariants/invariant.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kRoundsMax = 1'000'000'000;
const std::vector<std::string> kOutcomes{"succeeded", "failed", "signalled", "graceful_exit",
                                         "error",     "killed", "crashed",   "running"};

void load_patterns(const Place& place, std::vector<std::string>& into) {
  static const std::vector<std::string> kIds = properties::InvariantRegistry::with_builtins().ids();
  for (const Place& item : place.items()) {
    const std::string text = item.text();
    const bool known = std::any_of(kIds.begin(), kIds.end(), [&](const std::string& id) {
      return properties::matches(text, id);
    });
    if (!known) item.refuse_word("an invariant or a pattern such as \"safety.*\"", text, kIds);
    into.push_back(text);
  }
}

/// Calls `act` for the nodes that each key of `place` selects, in the order of the keys.
void each_node(const Place& place, const NodeNames& names,
               const std::function<void(const std::string&, const Place&)>& act) {
  std::set<std::string> seen;
  for (const auto& [key, value] : place.members()) {
    for (const std::string& id : names.named_by(key)) {
      if (!names.contains(id)) names.refuse(value, "a node of the cluster as key", id);
      if (!seen.insert(id).second) value.refuse("each node once", "\"" + id + "\" a second time");
      act(id, value);
    }
  }
}

std::string load_outcome(const Place& place, const std::string& text) {
  if (std::find(kOutcomes.begin(), kOutcomes.end(), text) == kOutcomes.end()) {
    std::string all;
    for (const std::string& outcome : kOutcomes) all += (all.empty() ? "" : ", ") + outcome;
    place.refuse_word("an outcome (" + all + ")", text, kOutcomes);
  }
  return text;
}

/// {"min": 2, "max": 3}, one of the two, or a number for both.
CountRange load_range(const Place& place, std::int64_t max) {
  if (place.json().is_number()) {
    const std::int64_t exactly = place.integer(0, max);
    return {exactly, exactly};
  }
  place.object({"min", "max"});
  CountRange out;
  if (place.has("min")) out.min = place.at("min").integer(0, max);
  if (place.has("max")) out.max = place.at("max").integer(0, max);
  if (out.min && out.max && *out.max < *out.min) {
    place.at("max").refuse_value("at least min (" + std::to_string(*out.min) + ")");
  }
  return out;
}

/// What must and must not be on the trace.
void load_trace_patterns(const Place& place, const TimelineNames& names, Expectation& expect) {
  for (const char* const key : {"coverage", "marks"}) {  // "marks": the word of earlier versions
    if (!place.has(key)) continue;
    for (const Place& item : place.at(key).items()) {
      expect.coverage.push_back(load_coverage_point(item, names.plugins));
    }
  }
  if (place.has("events")) {
    for (const Place& item : place.at("events").items()) {
      expect.events.push_back(load_event_pattern(item, names));
    }
  }
  if (place.has("never")) {
    for (const Place& item : place.at("never").items()) {
      for (const std::string key : {"passage", "at_most"}) {
        if (item.has(key)) item.at(key).refuse("no \"" + key + "\" of what never happens", "one");
      }
      expect.never.push_back(load_event_pattern(item, names));
    }
  }
  if (place.has("sums")) {
    for (const Place& item : place.at("sums").items()) expect.sums.push_back(load_sum(item, names));
  }
}

}  // namespace

Expectation load_expectation(const Place& place, const TimelineNames& names) {
  place.object({"outcome", "exit_code", "count", "rounds", "within", "holds", "violates",
                "coverage", "marks", "events", "never", "sums"});
  Expectation expect;
  if (place.has("outcome")) {
    each_node(place.at("outcome"), names.nodes, [&](const std::string& id, const Place& value) {
      expect.outcome[id] = load_outcome(value, value.text());
    });
  }
  if (place.has("exit_code")) {
    each_node(place.at("exit_code"), names.nodes, [&](const std::string& id, const Place& value) {
      expect.exit_code[id] = value.integer(-64, 255);
    });
  }
  if (place.has("count")) {
    for (const auto& [key, value] : place.at("count").members()) {
      expect.count[load_outcome(value, key)] = load_range(value, kNodesMax);
    }
  }
  if (place.has("rounds")) {
    const Place rounds = place.at("rounds").object({"min", "max"});
    const CountRange range = load_range(rounds, kRoundsMax);
    expect.rounds_min = range.min;
    expect.rounds_max = range.max;
  }
  if (place.has("within")) expect.within = place.at("within").duration();
  if (place.has("holds")) load_patterns(place.at("holds"), expect.holds);
  if (place.has("violates")) load_patterns(place.at("violates"), expect.violates);
  load_trace_patterns(place, names, expect);
  return expect;
}

}  // namespace hooke::scenario
