// What triggers an entry, then what it does.
#include "scenarios/format/timeline_loader.h"

#include <algorithm>

#include "model/observe/background_tasks.h"
#include "model/observe/coverage_points.h"
#include "model/observe/event_registry.h"
#include "model/observe/raised_errors.h"
#include "model/observe/trace_events.h"
#include "scenarios/format/duration.h"
#include "scenarios/format/vocabulary.h"
#include "sim/world/world_event_registry.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kTimesMax = 1'000'000;
constexpr std::int64_t kPassageMax = 1'000'000'000;

const sim::EventType* find_event(std::string_view name) {
  const sim::EventType* const type = model::find_event_type(name);
  return type != nullptr ? type : world::find_event_type(name);
}

std::vector<std::string> event_names() {
  std::vector<std::string> out;
  for (const sim::EventType* type : model::all_event_types()) out.emplace_back(type->name);
  for (const sim::EventType* type : world::all_event_types()) out.emplace_back(type->name);
  return out;
}

/// The names of `built_in` and then those of `own`.
template <class Names>
std::vector<std::string> names_of(const Names& built_in, const std::vector<std::string>& own) {
  std::vector<std::string> out(built_in.begin(), built_in.end());
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

void load_fault_point(const Place& place, Trigger& trigger) {
  place.object({"fault_point", "node", "passage"});
  const Place point = place.at("fault_point");
  trigger.fault_point = point.text();
  const auto known = fault_points();
  if (std::find(known.begin(), known.end(), *trigger.fault_point) == known.end()) {
    point.refuse_word("a known fault point", *trigger.fault_point, {known.begin(), known.end()});
  }
}

/// `own`: keys that are none of the event's fields.
void load_event(const Place& place, Trigger& trigger, const std::vector<std::string>& own,
                const model::Plugins& plugins) {
  const Place event = place.at("event");
  trigger.event = std::string(present_event_name(event.text()));
  const sim::EventType* const type = find_event(*trigger.event);
  if (type == nullptr) event.refuse_word("a known event", *trigger.event, event_names());
  std::vector<std::string> keys = own;
  for (std::size_t i = 0; i < type->field_count; ++i) keys.emplace_back(type->fields[i]);
  place.object(keys);
  for (const auto& [key, value] : place.members()) {
    if (std::find(own.begin(), own.end(), key) != own.end()) continue;
    if (type == &model::events::coverage_point && key == "name") {
      trigger.fields[key] = load_coverage_point(value, plugins);
    } else if (value.json().is_string()) {
      trigger.fields[key] = value.text();
    } else if (value.json().is_number_integer()) {
      trigger.fields[key] = std::to_string(value.integer(INT64_MIN, INT64_MAX));
    } else {
      value.refuse_value("a text or an integer");
    }
  }
}

void load_its_node(const Place& place, const NodeNames& nodes, Trigger& trigger) {
  if (!place.has("node")) return;
  trigger.on_node = place.at("node").text();
  if (!nodes.contains(trigger.on_node)) {
    nodes.refuse(place.at("node"), "a node of the cluster", trigger.on_node);
  }
}

void load_passage(const Place& place, const NodeNames& nodes, Trigger& trigger) {
  load_its_node(place, nodes, trigger);
  if (place.has("passage")) trigger.passage = place.at("passage").integer(1, kPassageMax);
}

Trigger load_trigger(const Place& place, const TimelineNames& names) {
  Trigger trigger;
  if (place.has("at") == place.has("when")) {
    place.refuse("either \"at\" or \"when\"", place.has("at") ? "both" : "neither");
  }
  if (place.has("at")) {
    trigger.at = place.at("at").duration();
    if (*trigger.at > names.time_limit) {
      place.at("at").refuse_value("a time of at most /time_limit (" +
                                  duration_text(names.time_limit) +
                                  "), after which nothing happens");
    }
    if (place.has("after")) place.at("after").refuse("no \"after\" beside \"at\"", "one");
    return trigger;
  }
  const Place when = place.at("when");
  if (when.has("event") == when.has("fault_point")) {
    when.refuse("either \"event\" or \"fault_point\"", when.has("event") ? "both" : "neither");
  }
  if (when.has("event")) {
    load_event(when, trigger, {"event", "node", "passage"}, names.plugins);
  } else {
    load_fault_point(when, trigger);
  }
  load_passage(when, names.nodes, trigger);
  if (place.has("after")) trigger.after = place.at("after").duration();
  return trigger;
}

/// The word of an entry; its keys must be those that the word takes.
const Word& load_word(const Place& place) {
  const Place what = place.at("do");
  const std::string name = what.text();
  const Word* const word = find_word(name);
  if (word == nullptr) {
    std::vector<std::string> words;
    for (const Word& known : vocabulary()) words.emplace_back(known.name);
    what.refuse_word("a known fault", name, words);
  }
  std::vector<std::string> keys{"at", "when", "after", "do", "every", "times"};
  for (const ParameterKey& key : kParameterKeys) {
    const bool required = word->needs(key.parameter);
    if (word->takes(key.parameter)) keys.emplace_back(key.name);
    // Without a node, the one where the trigger fired is meant.
    const bool implied = key.parameter == kNode && place.has("when");
    if (required && key.needed && !implied && !place.has(key.name)) {
      place.refuse("\"" + std::string(key.name) + "\" for \"" + name + "\"", "none");
    }
  }
  place.object(keys);
  return *word;
}

/// Without a task of that name a "thread.dies" could never have an effect.
void check_task(const Place& place, const model::Plugins& plugins) {
  const std::string name = place.text();
  const auto& own = plugins.background_tasks;
  if (model::tasks::can_be(name) || std::find(own.begin(), own.end(), name) != own.end()) return;
  place.refuse_word("a background task of an agent", name, names_of(model::tasks::kAll, own));
}

/// Only these are raised as what they are, where the code of an agent handles them by their class.
void check_error(const Place& place) {
  const std::string name = place.text();
  const auto& known = model::raised::kAll;
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  place.refuse_word("an error that the code of an agent raises", name,
                    {known.begin(), known.end()});
}

void load_repetition(const Place& place, TimelineEntry& entry) {
  if (place.has("every") != place.has("times")) {
    place.refuse("\"every\" and \"times\" together",
                 place.has("every") ? "only \"every\"" : "only \"times\"");
  }
  if (!place.has("every")) return;
  entry.every = place.at("every").positive_duration();
  entry.times = place.at("times").integer(1, kTimesMax);
}

void load_window(const Place& place, Trigger& pattern) {
  if (place.has("not_before")) pattern.not_before = place.at("not_before").duration();
  if (place.has("not_after")) pattern.not_after = place.at("not_after").duration();
  if (pattern.not_after && *pattern.not_after < pattern.not_before) {
    place.at("not_after").refuse_value("at least not_before");
  }
}

/// Limits of a sum: numbers, or spans.
CountRange load_limits(const Place& place, bool are_spans) {
  CountRange range;
  const auto load = [&](const char* key) -> std::optional<std::int64_t> {
    if (!place.has(key)) return std::nullopt;
    if (are_spans) return place.at(key).signed_duration().count();
    return place.at(key).integer(INT64_MIN, INT64_MAX);
  };
  range.min = load("at_least");
  range.max = load("at_most");
  if (const auto equal = load("equal")) {
    if (range.min || range.max) place.at("equal").refuse("no other limit beside \"equal\"", "one");
    range = {equal, equal};
  }
  if (range.min && range.max && *range.max < *range.min)
    place.at("at_most").refuse_value("at least at_least");
  return range;
}

}  // namespace

std::string load_coverage_point(const Place& place, const model::Plugins& plugins) {
  const std::string name = place.text();
  const std::vector<std::string> known = names_of(model::coverage::kAll, plugins.coverage);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    place.refuse_word("a coverage point that the model sets", name, known);
  }
  return name;
}

Trigger load_event_pattern(const Place& place, const TimelineNames& names) {
  Trigger pattern;
  load_event(place, pattern, {"event", "node", "passage", "at_most", "not_before", "not_after"},
             names.plugins);
  load_passage(place, names.nodes, pattern);
  if (place.has("at_most")) {
    pattern.at_most = place.at("at_most").integer(pattern.passage, kPassageMax);
  }
  load_window(place, pattern);
  return pattern;
}

ExpectedSum load_sum(const Place& place, const TimelineNames& names) {
  ExpectedSum sum;
  load_event(place, sum.events,
             {"event", "node", "sum_of", "at_least", "at_most", "equal", "not_before", "not_after"},
             names.plugins);
  load_its_node(place, names.nodes, sum.events);
  load_window(place, sum.events);
  const Place field = place.at("sum_of");
  sum.field = field.text();
  const sim::EventType& type = *find_event(*sum.events.event);
  const std::vector<std::string> fields(type.fields.begin(),
                                        type.fields.begin() + type.field_count);
  if (std::find(fields.begin(), fields.end(), sum.field) == fields.end())
    field.refuse_word("a field of " + *sum.events.event, sum.field, fields);
  for (const char* const key : {"at_least", "at_most", "equal"})
    sum.is_a_span = sum.is_a_span || (place.has(key) && place.at(key).json().is_string());
  sum.range = load_limits(place, sum.is_a_span);
  if (!sum.range.min && !sum.range.max)
    place.refuse("\"at_least\", \"at_most\" or \"equal\"", "none of them");
  return sum;
}

TimelineEntry load_timeline_entry(const Place& place, const TimelineNames& names) {
  using Roles = NodeNames::Roles;
  if (!place.json().is_object()) place.refuse_value("an object");
  const Word& word = load_word(place);
  TimelineEntry entry;
  entry.what = word.name;
  if (word.external_store && !names.external_store) {
    place.at("do").refuse("an external store for \"" + entry.what + "\"",
                          "one that lives in an agent of the job");
  }
  if (word.etcd && !names.etcd) {
    place.at("do").refuse("a rendezvous backend of etcd for \"" + entry.what + "\"", "another one");
  }
  entry.trigger = load_trigger(place, names);
  if (place.has("node")) entry.from = names.nodes.select_all(place.at("node"), Roles::allowed);
  if (place.has("from")) entry.from = names.nodes.select_all(place.at("from"), Roles::allowed);
  if (place.has("to")) entry.to = names.nodes.select_all(place.at("to"), Roles::allowed);
  if (place.has("one_way")) entry.one_way = place.at("one_way").truth();
  if (place.has("local_rank"))
    entry.local_rank = place.at("local_rank").integer(0, names.workers_per_node - 1);
  if (place.has("signal")) {
    entry.signal = place.at("signal").text();
    if (!signal_named(*entry.signal))
      place.at("signal").refuse_value("a signal such as \"SIGTERM\"");
  }
  if (place.has("for")) entry.duration = place.at("for").positive_duration();
  if (place.has("by"))
    entry.span = word.negative_by ? place.at("by").signed_duration() : place.at("by").duration();
  if (place.has("amount"))
    entry.amount = place.at("amount").integer(word.amount.min, word.amount.max);
  if (place.has("text")) {
    entry.text = place.at("text").text();
    if (entry.text->empty()) place.at("text").refuse_value("a text that is not empty");
    if (word.text_is == TextIs::background_task) check_task(place.at("text"), names.plugins);
    if (word.text_is == TextIs::error) check_error(place.at("text"));
  }
  load_repetition(place, entry);
  return entry;
}

}  // namespace hooke::scenario
