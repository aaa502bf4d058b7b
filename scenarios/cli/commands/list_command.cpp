// hooke list: the names that scenarios and results use, from the tables that give them their meaning.
#include <fnmatch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/observe/coverage_meanings.h"
#include "model/observe/event_registry.h"
#include "properties/invariants/invariant.h"
#include "reports/known_issue_table.h"
#include "reports/text.h"
#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/library.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/vocabulary.h"
#include "sim/world/world_event_registry.h"

namespace hooke::cli {
namespace {

constexpr const char* kScenario = "scenario";

struct Entry {
  std::string kind;  ///< "invariant"
  std::string name;
  std::string text;
  std::string file;  ///< of a scenario
};

void add_invariants(std::vector<Entry>& out) {
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

void add_faults(std::vector<Entry>& out) {
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

void add_events(std::vector<Entry>& out) {
  std::vector<const sim::EventType*> types = model::all_event_types();
  for (const sim::EventType* const type : world::all_event_types()) types.push_back(type);
  for (const sim::EventType* const type : types) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < type->field_count; ++i) fields.emplace_back(type->fields[i]);
    out.push_back({"event", std::string(type->name),
                   fields.empty() ? "no fields" : "fields " + report::joined(fields), ""});
  }
}

std::vector<Entry> everything() {
  std::vector<Entry> out;
  add_invariants(out);
  add_faults(out);
  add_events(out);
  for (const auto& [point, meaning] : model::coverage::kMeanings) {
    out.push_back({"coverage", std::string(point), std::string(meaning), ""});
  }
  for (const std::string_view point : scenario::fault_points()) {
    out.push_back(
        {"fault-point", std::string(point), "a place in an agent's code for a trigger", ""});
  }
  return out;
}

/// ScenarioError where there is no library.
std::vector<Entry> scenarios_of(const std::optional<std::string>& library) {
  if (!library) {
    throw scenario::ScenarioError(
        "hooke list scenarios: no library came with this program; --library DIR names a directory "
        "of scenario files");
  }
  std::vector<Entry> out;
  for (const LibraryScenario& each : scenarios_below(*library)) {
    out.push_back({kScenario, each.name, each.description, each.file});
  }
  return out;
}

/// The incidents of the library that violate an invariant, with what mends each.
void print_known_issues(const Entry& entry, const report::Style& style) {
  if (entry.kind != "invariant") return;
  const std::vector<report::KnownIssue> issues = report::known_issues_of(entry.name);
  if (issues.empty()) return;
  std::cout << "\nKnown issues that violate it  their numbers are those of the index in "
               "scenarios/library/known_issues\n";
  const std::string indent(6, ' ');
  for (const report::KnownIssue& issue : issues) {
    std::cout << report::pad("  " + issue.number, indent.size())
              << report::wrap(issue.what + " (" + issue.reported + ")", style.width, indent) << '\n'
              << indent << "hooke run " << issue.scenario << '\n'
              << indent << report::wrap("mended by: " + issue.mend, style.width, indent) << '\n';
  }
}

/// The references of a scenario of the library, what it shows to be violated, and how to play it.
void print_scenario(const Entry& entry, const report::Style& style) {
  const scenario::Scenario scenario = scenario::load_scenario_file(entry.file);
  std::cout << '\n';
  const auto print = [&](const std::string& title, const std::vector<std::string>& values) {
    if (values.empty()) return;
    const std::string indent(13, ' ');
    std::cout << report::pad("  " + title, indent.size())
              << report::wrap(report::joined(values), style.width, indent) << '\n';
  };
  print("file", {entry.file});
  print("nodes", {std::to_string(scenario.cluster.nodes.size())});
  print("references", scenario.references);
  print("violates", scenario.expect.violates);
  std::cout << "next: hooke run " << entry.file << "   (--timeline tells what each node does)\n";
  if (!scenario.expect.violates.empty()) {
    std::cout << "      hooke explain " << entry.file << "   (why, and what averts it)\n";
  }
}

/// Whether `kind`, as it is written on a command line, means that entry.
bool is_of(const Entry& entry, const std::string& kind) {
  return kind == "all" || kind == entry.kind || kind == entry.kind + "s";
}

struct ListOptions {
  std::string kind;
  std::vector<std::string> commands;   ///< what `hooke help` takes besides the names listed here
  std::optional<std::string> library;  ///< nullopt: the program's own
  std::vector<std::string> patterns;
  bool json = false;
};

std::vector<Entry> of_kind(const ListOptions& options) {
  if (options.kind == "scenarios") {
    return scenarios_of(options.library ? options.library : library_of_program());
  }
  if (options.library) throw scenario::ScenarioError("hooke list: --library is for scenarios only");
  std::vector<Entry> all = everything();
  std::erase_if(all, [&](const Entry& entry) { return !is_of(entry, options.kind); });
  return all;
}

std::string file_name(const std::string& scenario) {
  return scenario.substr(scenario.rfind('/') + 1);
}

/// A scenario is also meant by the name of its file, and by that of a folder above it.
bool is_meant(const Entry& entry, const std::string& pattern) {
  if (fnmatch(pattern.c_str(), entry.name.c_str(), 0) == 0) return true;
  return entry.kind == kScenario &&
         (fnmatch(pattern.c_str(), file_name(entry.name).c_str(), 0) == 0 ||
          fnmatch(pattern.c_str(), entry.name.c_str(), FNM_LEADING_DIR) == 0);
}

void add_meant(std::vector<Entry>& out, const std::vector<Entry>& all, const std::string& pattern) {
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Entry& entry) { return is_meant(entry, pattern); });
}

/// ScenarioError that names what is most like `pattern`.
[[noreturn]] void refuse(const std::string& pattern, const std::vector<Entry>& all,
                         const ListOptions& options) {
  std::vector<std::string> names = options.commands;
  for (const Entry& entry : all) {
    names.push_back(entry.name);
    if (entry.kind == kScenario) names.push_back(file_name(entry.name));
  }
  const auto near = scenario::nearest(pattern, names);
  throw scenario::ScenarioError("hooke list: no " +
                                (options.kind == "all" ? "name" : options.kind) + " " + pattern +
                                (near ? "; did you mean " + *near + "?" : ""));
}

/// Of all kinds a pattern means scenarios only where it means nothing else.
std::vector<Entry> wanted(const ListOptions& options) {
  std::vector<Entry> all = of_kind(options);
  if (options.patterns.empty()) return all;
  bool with_library = options.kind != "all";
  std::vector<Entry> out;
  for (const std::string& pattern : options.patterns) {
    const std::size_t before = out.size();
    add_meant(out, all, pattern);
    if (out.size() == before && !with_library) {
      const std::optional<std::string> library = library_of_program();
      const std::vector<Entry> scenarios = library ? scenarios_of(library) : std::vector<Entry>{};
      all.insert(all.end(), scenarios.begin(), scenarios.end());
      with_library = true;
      add_meant(out, all, pattern);
    }
    if (out.size() == before) refuse(pattern, all, options);
  }
  return out;
}

/// Without a kind: which there are, how many of each, and one of them.
int list_kinds(const report::Style& style) {
  const std::vector<Entry> all = everything();
  std::cout << "What can be listed:\n";
  for (const char* const kind : {"invariants", "faults", "events", "coverage", "fault-points"}) {
    const auto count = std::count_if(all.begin(), all.end(),
                                     [&](const Entry& entry) { return is_of(entry, kind); });
    const auto first = std::find_if(all.begin(), all.end(),
                                    [&](const Entry& entry) { return is_of(entry, kind); });
    std::cout << "  hooke list " << report::paint(style, "1", report::pad(kind, 12)) << "  "
              << report::pad(std::to_string(count), 4) << " such as " << first->name << '\n';
  }
  const std::optional<std::string> library = library_of_program();
  const std::size_t scenarios = library ? scenarios_below(*library).size() : 0;
  std::cout << "  hooke list " << report::paint(style, "1", "scenarios   ") << "  "
            << (library ? report::pad(std::to_string(scenarios), 4) + " in " + *library
                        : "none came with this program; --library DIR lists yours")
            << '\n';
  std::cout
      << "hooke help NAME says what one of them means; hooke schema --help lists the forms of "
         "files.\n";
  return kAllHeld;
}

/// Of a description what stands behind `indent` columns: the first sentence, cut to the width of a
/// terminal. For a program that reads it, it is not cut.
std::string in_one_line(const std::string& text, std::size_t width, std::size_t indent) {
  const std::string sentence = first_sentence(text);
  if (isatty(STDOUT_FILENO) == 0 && std::getenv("COLUMNS") == nullptr) return sentence;
  return report::fit(sentence, std::max<std::size_t>(width, indent + 20) - indent);
}

int list(ListOptions options) {
  if (options.kind.empty() && !options.json) return list_kinds(style_of_terminal());
  if (options.kind.empty()) options.kind = "all";
  const std::vector<Entry> entries = wanted(options);
  if (options.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Entry& entry : entries) {
      json.push_back({{"kind", entry.kind}, {"name", entry.name}, {"text", entry.text}});
      if (!entry.file.empty()) json.back()["file"] = entry.file;
    }
    std::cout << json.dump(2) << '\n';
    return kAllHeld;
  }
  const report::Style style = style_of_terminal();
  const bool mixed = options.kind == "all";
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  const std::string indent(width + 2 + (mixed ? 13 : 0), ' ');
  for (const Entry& entry : entries) {
    const bool is_short = entry.kind == kScenario && entries.size() > 1;
    std::cout << (mixed ? report::pad(entry.kind, 13) : "")
              << report::paint(style, "1", report::pad(entry.name, width)) << "  "
              << (is_short ? in_one_line(entry.text, style.width, indent.size())
                           : report::wrap(entry.text, style.width, indent))
              << '\n';
  }
  if (entries.size() == 1) print_known_issues(entries.front(), style);
  if (entries.size() == 1 && entries.front().kind == kScenario) {
    print_scenario(entries.front(), style);
  } else if (entries.front().kind == kScenario) {
    std::cout << "next: hooke run " << entries.front().file << "   (or another's path)\n";
  }
  return kAllHeld;
}

}  // namespace

std::vector<std::string> listed_names(const std::string& kind) {
  std::vector<std::string> names;
  if (kind == "scenarios") {
    const std::optional<std::string> library = library_of_program();
    if (!library) return names;
    for (const LibraryScenario& each : scenarios_below(*library)) names.push_back(each.name);
    return names;
  }
  for (const Entry& entry : everything()) {
    if (is_of(entry, kind)) names.push_back(entry.name);
  }
  return names;
}

void add_list(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand(
      "list", "List the names that scenarios and results use, and what they mean");
  command
      ->add_option("kind", options->kind,
                   "invariants, faults, events, coverage, fault-points, all of these, or "
                   "scenarios; without one: what there is")
      ->check(CLI::IsMember(
          {"invariants", "faults", "events", "coverage", "fault-points", "all", "scenarios"}));
  command
      ->add_option("names", options->patterns,
                   "Only these; * and ? stand for any characters. A folder means its scenarios")
      ->type_name("NAME");
  command
      ->add_option("--library", options->library,
                   "With scenarios: those below this directory, instead of hooke's own library")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print them as JSON");
  command->footer(
      "Examples:\n"
      "  hooke list\n"
      "  hooke list invariants\n"
      "  hooke list faults 'net.*'\n"
      "  hooke list scenarios known_issues\n"
      "  hooke help safety.bounds       (the same as hooke list all safety.bounds)\n"
      "  hooke help smoke/late-joiner   (a scenario of the library: what it is, its file)\n"
      "Exit codes: 0; 2 a name that there is not, scenarios where the program has no library, or "
      "bad usage.");
  command->callback([options, &app, &exit_code] {
    for (const CLI::App* const each : shown_commands(app)) {
      options->commands.push_back(each->get_name());
    }
    exit_code = list(*options);
  });
}

}  // namespace hooke::cli
