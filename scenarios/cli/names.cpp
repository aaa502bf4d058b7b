// Each kind of name is read off the table where its code finds it.
#include "scenarios/cli/names.h"

#include <algorithm>

#include "model/observe/coverage_meanings.h"
#include "model/observe/event_registry.h"
#include "properties/invariants/invariant.h"
#include "reports/text.h"
#include "reports/weakness_table.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/library.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/vocabulary.h"
#include "sim/world/world_event_registry.h"

namespace hooke::cli {
namespace {

void add_invariants(std::vector<Name>& out) {
  for (const auto& invariant : properties::InvariantRegistry::with_builtins().make_all()) {
    std::string text(invariant->meaning());
    std::vector<std::string> needs;
    const bool any = invariant->needs() == properties::kAny;
    for (properties::Needs left = any ? 0 : invariant->needs(); left != 0; left &= left - 1) {
      needs.emplace_back(properties::name_of_first(left));
    }
    if (any) text += " Excused by any fault.";
    if (!needs.empty()) text += " Excused by a fault of: " + report::joined(needs) + ".";
    out.push_back({"invariant", std::string(invariant->id()), text, ""});
  }
}

void add_faults(std::vector<Name>& out) {
  for (const scenario::Word& word : scenario::vocabulary()) {
    std::vector<std::string> parameters;
    for (const scenario::ParameterKey& key : scenario::kParameterKeys) {
      if (!word.takes(key.parameter)) continue;
      parameters.push_back(std::string(key.name) +
                           (word.needs(key.parameter) && key.needed ? "" : " (optional)"));
    }
    out.push_back(
        {"fault", std::string(word.name),
         std::string(word.meaning) + "; " +
             (parameters.empty() ? "takes nothing" : "takes " + report::joined(parameters)),
         ""});
  }
}

void add_events(std::vector<Name>& out) {
  std::vector<const sim::EventType*> types = model::all_event_types();
  for (const sim::EventType* const type : world::all_event_types()) types.push_back(type);
  for (const sim::EventType* const type : types) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < type->field_count; ++i) fields.emplace_back(type->fields[i]);
    out.push_back(
        {"event", std::string(type->name),
         std::string(type->meaning) +
             (fields.empty() ? " No fields." : " Fields: " + report::joined(fields) + "."),
         ""});
  }
}

void add_weaknesses(std::vector<Name>& out) {
  for (const report::Weakness& weakness : report::weaknesses()) {
    for (const std::string& code : weakness.codes) {
      const auto earlier =
          std::find_if(out.begin(), out.end(), [&](const Name& name) { return name.name == code; });
      if (earlier == out.end()) {
        out.push_back({kWeaknessKind, code, weakness.what, ""});
      } else {
        earlier->text += "; " + weakness.what;
      }
    }
  }
}

}  // namespace

std::vector<Name> all_names() {
  std::vector<Name> out;
  add_invariants(out);
  add_faults(out);
  add_events(out);
  for (const auto& [point, meaning] : model::coverage::kMeanings) {
    out.push_back({"coverage", std::string(point), std::string(meaning), ""});
  }
  for (const std::string_view point : scenario::fault_points()) {
    out.push_back({"fault-point", std::string(point),
                   std::string(scenario::meaning_of_fault_point(point)), ""});
  }
  add_weaknesses(out);
  return out;
}

std::vector<Name> scenario_names(const std::optional<std::string>& library) {
  if (!library) {
    throw scenario::ScenarioError(
        "hooke list scenarios: no library came with this program; --library DIR names a directory "
        "of scenario files");
  }
  std::vector<Name> out;
  for (const LibraryScenario& each : scenarios_below(*library)) {
    out.push_back({kScenarioKind, each.name, each.description, each.file});
  }
  return out;
}

std::vector<std::string> listed_names(const std::string& kind) {
  std::vector<std::string> names;
  if (kind == "scenarios") {
    const std::optional<std::string> library = library_of_program();
    if (!library) return names;
    for (const LibraryScenario& each : scenarios_below(*library)) names.push_back(each.name);
    return names;
  }
  for (const Name& entry : all_names()) {
    if (is_of(entry, kind)) names.push_back(entry.name);
  }
  return names;
}

bool is_of(const Name& name, const std::string& kind) {
  const char* const ending = name.kind.ends_with("s") ? "es" : "s";
  return kind == "all" || kind == name.kind || kind == name.kind + ending;
}

}  // namespace hooke::cli
