// hooke report: puts together what several explorations have seen.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "reports/exploration_table.h"
#include "reports/page/campaign_page.h"
#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/hunt.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::vector<std::string> against;
  std::string html;
  std::string junit;
  bool json = false;
  bool known_issues = false;
};

hunt::Exploration whole_of(const std::vector<std::string>& files) {
  hunt::Exploration whole;
  bool first = true;
  for (const std::string& file : files) {
    const hunt::Exploration part = hunt::load_exploration(scenario::read_file(file), file);
    if (std::exchange(first, false)) whole.space = part.space;
    whole.merge(part, file);
  }
  if (whole.worlds == 0) {
    throw scenario::ScenarioError(files.front() + ": /worlds: expected at least one world, got 0");
  }
  return whole;
}

int compare(const hunt::Exploration& whole, const hunt::Exploration& other) {
  std::cout << report::comparison_table(whole, other, style_of_terminal());
  return whole.findings_beyond(other).empty() ? kAllHeld : kSomethingFell;
}

/// The command that has the worlds of a space, where the space alone tells it.
std::string command_of(const std::string& space) {
  if (space.empty()) return "hooke explore";
  return model::variant_from(space) ? "hooke explore --variant " + space : "";
}

int report(const ReportOptions& options) {
  OutputFile html("--html", options.html), junit("--junit", options.junit);
  const hunt::Exploration whole = whole_of(options.files);
  if (!options.against.empty()) return compare(whole, whole_of(options.against));
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const report::CampaignContent content{
      &whole, &invariants, "Report of " + report::counted(options.files.size(), "part"),
      command_of(whole.space)};
  if (html.is_open()) html << report::campaign_page(content);
  html.finish();
  if (junit.is_open()) junit << report::campaign_junit(content, junit_places(""));
  junit.finish();
  std::cout << (options.known_issues ? report::known_issues_csv(whole)
                : options.json       ? hunt::write_exploration(whole)
                                     : report::exploration_table(whole, style_of_terminal()));
  return exit_code_of(whole);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Put together what parts of an exploration have seen");
  command->add_option("results", options->files, "Files that hooke explore --results has written")
      ->type_name("FILE")
      ->required();
  command->add_flag("--json", options->json, "Print the whole as JSON");
  CLI::Option* const html =
      command
          ->add_option("--html", options->html, "Write the whole as a page to look at in a browser")
          ->type_name("FILE");
  CLI::Option* const junit =
      command->add_option("--junit", options->junit, "Write the whole as JUnit XML")
          ->type_name("FILE");
  command->add_flag(
      "--known-issues", options->known_issues,
      "Print a line of CSV for each known issue that was looked for: how often it was met, and "
      "the median number of worlds and seconds until it is found");
  CLI::deprecate_option(command->add_flag("--exhibits", options->known_issues), "--known-issues");
  command
      ->add_option("--against", options->against,
                   "Results of another space: say only in how many worlds of each an invariant was "
                   "violated, "
                   "and in which ways that none of these has shown")
      ->type_name("FILE")
      ->excludes(command->get_option("--json"))
      ->excludes(html)
      ->excludes(junit);
  command->footer(
      "Example:\n"
      "  hooke report part-*.json\n"
      "  hooke report mixed.json --against faithful-*.json\n"
      "Exit codes: 0 every invariant was kept, or nothing is new against the others; 1 some were "
      "broken, or some ways are new; 2 bad input, or parts that do not belong together; 3 the "
      "harness had failed.");
  command->callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace hooke::cli
