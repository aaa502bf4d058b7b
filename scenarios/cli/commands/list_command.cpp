// hooke list and hooke help NAME: the names that scenarios and results use, and what one means.
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

#include "reports/known_issue_table.h"
#include "reports/text.h"
#include "reports/weakness_table.h"
#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/library.h"
#include "scenarios/cli/names.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"

namespace hooke::cli {
namespace {

/// The incidents of the library that violate an invariant, with what mends each.
void print_known_issues(const Name& entry, const report::Style& style) {
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

/// A line of details: `title`, and behind it `text` in a column of its own.
void print_detail(const std::string& title, const std::string& text, const report::Style& style) {
  const std::string indent(13, ' ');
  std::cout << report::pad("  " + title, indent.size()) << report::wrap(text, style.width, indent)
            << '\n';
}

/// What shows a weakness, what a hardened agent does instead, and how to see it.
void print_weakness(const Name& entry, const report::Style& style) {
  const std::optional<std::string> library = library_of_program();
  for (const report::Weakness& weakness : report::weaknesses()) {
    if (std::ranges::find(weakness.codes, entry.name) == weakness.codes.end()) continue;
    std::cout << '\n';
    // One code may stand for two of them.
    if (weakness.what != entry.text) print_detail("weakness", weakness.what, style);
    print_detail("shown by", weakness.shown_by, style);
    print_detail("hardened", weakness.mended, style);
    if (!weakness.scenario.empty() && library) {
      std::cout << "next: hooke explain " << *library << '/' << weakness.scenario << '\n';
    }
  }
  std::cout << "Paths are those below scenarios/library and properties.\n";
}

/// The references of a scenario of the library, what it shows to be violated, and how to play it.
void print_scenario(const Name& entry, const report::Style& style) {
  const scenario::Scenario scenario = scenario::load_scenario_file(entry.file);
  std::cout << '\n';
  const auto print = [&](const std::string& title, const std::vector<std::string>& values) {
    if (!values.empty()) print_detail(title, report::joined(values), style);
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

struct ListOptions {
  std::string command = "hooke list";  ///< what was typed, for its complaints
  std::string kind;
  std::vector<std::string> commands;   ///< what `hooke help` takes besides the names listed here
  std::optional<std::string> library;  ///< nullopt: the program's own
  std::vector<std::string> patterns;
  bool json = false;
};

std::vector<Name> of_kind(const ListOptions& options) {
  if (options.kind == "scenarios") {
    return scenario_names(options.library ? options.library : library_of_program());
  }
  if (options.library) throw scenario::ScenarioError("hooke list: --library is for scenarios only");
  std::vector<Name> all = all_names();
  std::erase_if(all, [&](const Name& entry) { return !is_of(entry, options.kind); });
  return all;
}

std::string file_name(const std::string& scenario) {
  return scenario.substr(scenario.rfind('/') + 1);
}

/// A scenario is also meant by the name of its file, and by that of a folder above it.
bool is_meant(const Name& entry, const std::string& pattern) {
  if (fnmatch(pattern.c_str(), entry.name.c_str(), 0) == 0) return true;
  return entry.kind == kScenarioKind &&
         (fnmatch(pattern.c_str(), file_name(entry.name).c_str(), 0) == 0 ||
          fnmatch(pattern.c_str(), entry.name.c_str(), FNM_LEADING_DIR) == 0);
}

void add_meant(std::vector<Name>& out, const std::vector<Name>& all, const std::string& pattern) {
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Name& entry) { return is_meant(entry, pattern); });
}

/// ScenarioError that names what is most like `pattern`.
[[noreturn]] void refuse(const std::string& pattern, const std::vector<Name>& all,
                         const ListOptions& options) {
  std::vector<std::string> names = options.commands;
  for (const Name& entry : all) {
    names.push_back(entry.name);
    if (entry.kind == kScenarioKind) names.push_back(file_name(entry.name));
  }
  const auto near = scenario::nearest(pattern, names);
  throw scenario::ScenarioError(options.command + ": no " +
                                (options.kind == "all" ? "name" : options.kind) + " " + pattern +
                                (near ? "; did you mean " + *near + "?" : ""));
}

/// Of all kinds a pattern means scenarios only where it means nothing else.
std::vector<Name> wanted(const ListOptions& options) {
  std::vector<Name> all = of_kind(options);
  if (options.patterns.empty()) return all;
  bool with_library = options.kind != "all";
  std::vector<Name> out;
  for (const std::string& pattern : options.patterns) {
    const std::size_t before = out.size();
    add_meant(out, all, pattern);
    if (out.size() == before && !with_library) {
      const std::optional<std::string> library = library_of_program();
      const std::vector<Name> scenarios = library ? scenario_names(library) : std::vector<Name>{};
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
  const std::vector<Name> all = all_names();
  std::cout << "What can be listed:\n";
  for (const char* const kind :
       {"invariants", "faults", "events", "coverage", "fault-points", "weaknesses"}) {
    const auto count = std::count_if(all.begin(), all.end(),
                                     [&](const Name& entry) { return is_of(entry, kind); });
    const auto first =
        std::find_if(all.begin(), all.end(), [&](const Name& entry) { return is_of(entry, kind); });
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
  const std::vector<Name> entries = wanted(options);
  if (options.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Name& entry : entries) {
      json.push_back({{"kind", entry.kind}, {"name", entry.name}, {"text", entry.text}});
      if (!entry.file.empty()) json.back()["file"] = entry.file;
    }
    std::cout << json.dump(2) << '\n';
    return kAllHeld;
  }
  const report::Style style = style_of_terminal();
  const bool mixed = options.kind == "all";
  std::size_t width = 0;
  for (const Name& entry : entries) width = std::max(width, entry.name.size());
  const std::string indent(width + 2 + (mixed ? 13 : 0), ' ');
  for (const Name& entry : entries) {
    const bool is_short = entry.kind == kScenarioKind && entries.size() > 1;
    std::cout << (mixed ? report::pad(entry.kind, 13) : "")
              << report::paint(style, "1", report::pad(entry.name, width)) << "  "
              << (is_short ? in_one_line(entry.text, style.width, indent.size())
                           : report::wrap(entry.text, style.width, indent))
              << '\n';
  }
  if (entries.size() == 1) print_known_issues(entries.front(), style);
  if (entries.size() == 1 && entries.front().kind == kWeaknessKind) {
    print_weakness(entries.front(), style);
  }
  if (entries.size() == 1 && entries.front().kind == kScenarioKind) {
    print_scenario(entries.front(), style);
  } else if (entries.front().kind == kScenarioKind) {
    std::cout << "next: hooke run " << entries.front().file << "   (or another's path)\n";
  }
  return kAllHeld;
}

}  // namespace

void add_help(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ListOptions>();
  options->command = "hooke help";
  options->kind = "all";
  CLI::App* command =
      app.add_subcommand("help", "Explain a command, or a name that scenarios and results use");
  command
      ->add_option(
          "names", options->patterns,
          "A command; or an invariant, a fault, an event, a coverage point, a fault point, "
          "a weakness of PyTorch or a scenario of the library; * and ? stand for any "
          "characters")
      ->type_name("NAME")
      ->required();
  command->footer(
      "Examples:\n"
      "  hooke help run                 (the same as hooke run --help)\n"
      "  hooke help safety.bounds       (an invariant)\n"
      "  hooke help A-21                (a weakness of PyTorch)\n"
      "  hooke help smoke/late-joiner   (a scenario of the library: what it is, its file)\n"
      "Exit codes: 0; 2 a name that there is not, or bad usage.");
  command->callback([options, &app, &exit_code] {
    for (const CLI::App* const each : shown_commands(app)) {
      options->commands.push_back(each->get_name());
    }
    exit_code = list(*options);
  });
}

void add_list(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand(
      "list", "List the names that scenarios and results use, and what they mean");
  command
      ->add_option("kind", options->kind,
                   "invariants, faults, events, coverage, fault-points, weaknesses (of PyTorch), "
                   "all of these, or scenarios; without one: what there is")
      ->check(CLI::IsMember({"invariants", "faults", "events", "coverage", "fault-points",
                             "weaknesses", "all", "scenarios"}));
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
      "  hooke list weaknesses\n"
      "  hooke help safety.bounds       (the same as hooke list all safety.bounds)\n"
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
