// The format is that of report::TraceFile.
#include "scenarios/recorded/trace_line.h"

#include <limits>
#include <vector>

#include "model/observe/event_registry.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/outcome/trigger.h"
#include "scenarios/recorded/worker_events.h"
#include "sim/world/world_event_registry.h"

namespace hooke::scenario {
namespace {

/// A wall clock counts from 1970.
constexpr std::int64_t kWallMax = std::int64_t{1} << 62;

std::vector<std::string> keys_of(const sim::EventType& type) {
  std::vector<std::string> keys{"event", "parent", "at_ns", "type", "node", "pid", "wall_ns"};
  for (std::size_t i = 0; i < type.field_count; ++i) keys.emplace_back(type.fields[i]);
  return keys;
}

/// Fields reach terminals as they are: what commands one is replaced.
std::string harmless(std::string text) {
  for (char& c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control && c != '\n' && c != '\t') c = '?';
  }
  return text;
}

RawEvent::Field field_from(const Place& place) {
  if (place.json().is_string()) return harmless(place.text());
  if (place.json().is_number_integer()) return place.integer(-kTraceNumberMax, kTraceNumberMax);
  place.refuse_value("a text or a whole number");
}

}  // namespace

const sim::EventType* event_type_called(std::string_view told) {
  const std::string_view name = present_event_name(told);
  if (const sim::EventType* const type = model::find_event_type(name)) return type;
  if (const sim::EventType* const type = world::find_event_type(name)) return type;
  for (const sim::EventType* const type : {&events::timeline_acted, &events::worker_reported,
                                           &events::worker_exits, &events::agent_logged}) {
    if (type->name == name) return type;
  }
  return nullptr;
}

TraceLine read_trace_line(std::string_view text, const std::string& source) {
  const nlohmann::ordered_json document = parse_json(text, source);
  const Place root(document, "", source);
  if (!document.is_object()) root.refuse_value("an event as a JSON object");
  const std::string name = root.at("type").text();
  TraceLine line;
  line.event.type = event_type_called(name);
  if (line.event.type == nullptr) root.at("type").refuse("the type of an event", '"' + name + '"');
  root.object(keys_of(*line.event.type));
  line.id = root.at("event").unsigned_integer();
  line.parent = root.at("parent").unsigned_integer();
  line.event.at = sim::WorldTime(sim::Duration(root.at("at_ns").integer(0, kTraceNumberMax)));
  line.event.node = sim::kNoNode;
  if (root.has("node")) {
    line.node = root.at("node").shown_text();
    if (line.node.empty()) root.at("node").refuse_value("the name of a node");
    line.event.pid = sim::Pid{static_cast<std::int32_t>(
        root.at("pid").integer(0, std::numeric_limits<std::int32_t>::max()))};
    line.event.wall = sim::WallTime(sim::Duration(root.at("wall_ns").integer(0, kWallMax)));
  }
  for (std::size_t i = 0; i < line.event.type->field_count; ++i) {
    line.event.fields.push_back(field_from(root.at(std::string(line.event.type->fields[i]))));
  }
  return line;
}

}  // namespace hooke::scenario
