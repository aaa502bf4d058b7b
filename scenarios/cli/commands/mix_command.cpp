// hooke mix: how many agents must be hardened for a failure to disappear, and which.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reports/mixture_table.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/scenario_files.h"
#include "scenarios/cli/workforce.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/mixture.h"

namespace hooke::cli {
namespace {

struct MixOptions {
  std::vector<std::string> paths;
  std::int64_t runs = 3;
  unsigned jobs = 1;
};

struct Subject {
  std::string name;  ///< folder and file, without the rest
  scenario::Scenario scenario;
};

std::vector<Subject> subjects_of(const std::vector<std::string>& paths) {
  std::vector<Subject> subjects;
  for (const std::string& file : scenario_files(paths)) {
    scenario::Scenario scenario = scenario::load_scenario_file(file);
    if (!hunt::can_be_mixed(scenario)) continue;
    const std::filesystem::path path(file);
    subjects.push_back(
        {(path.parent_path().filename() / path.stem()).string(), std::move(scenario)});
  }
  if (subjects.empty()) {
    throw scenario::ScenarioError(
        "/expect/violates: expected a scenario of several torch-2.x agents that violates an "
        "invariant, "
        "got none");
  }
  return subjects;
}

int mix(const MixOptions& options) {
  const std::vector<Subject> subjects = subjects_of(options.paths);
  std::vector<std::string> rows(subjects.size());
  std::vector<std::string> only_mixed(subjects.size());
  bool crashed = false;
  std::unique_ptr<kernel::Kernel> kernel;
  Workforce workforce;
  workforce.jobs = options.jobs;
  workforce.work = [&](std::uint64_t task) {
    if (!kernel) kernel = std::make_unique<kernel::Kernel>();
    const hunt::Mixture mixture = hunt::mix(*kernel, subjects[task].scenario, options.runs,
                                            properties::InvariantRegistry::with_builtins());
    return nlohmann::json{{"rows", report::mixture_rows(mixture, subjects[task].name)},
                          {"only_mixed", report::only_mixed_rows(mixture, subjects[task].name)}}
        .dump();
  };
  workforce.done = [&](std::uint64_t task, const std::string& line) {
    const auto told = nlohmann::json::parse(line);
    rows[task] = told.at("rows");
    only_mixed[task] = told.at("only_mixed");
  };
  workforce.crashed = [&](std::uint64_t task, const std::string& how) {
    crashed = true;
    std::cerr << subjects[task].name << ": the process that played it was " << how << "\n";
  };
  workforce.more = [] { return true; };
  workforce.run(subjects.size());
  const auto whole = [](const std::vector<std::string>& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::string());
  };
  std::cout << report::mixture_tables(whole(rows), whole(only_mixed));
  if (crashed) return kHarnessFailed;
  return whole(only_mixed).empty() ? kAllHeld : kSomethingFell;
}

}  // namespace

void add_mix(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MixOptions>();
  CLI::App* command = app.add_subcommand(
      "mix", "Find how many agents must be hardened, and which, for a failure to disappear");
  command
      ->add_option(
          "scenarios", options->paths,
          "Scenario files, or directories of them; those that violate no invariant of several "
          "torch-2.x agents are passed over")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--runs", options->runs,
                   "Seeds under which each placement is played, from the scenario's own on")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "Processes that play at the same time")
      ->check(CLI::Range(1, 1'024))
      ->capture_default_str();
  command->footer(
      "Plays each scenario with every choice of hardened agents among its nodes. The table, in "
      "Markdown, says for each invariant in how many of the choices of one hardened agent, of two, "
      "and so on, it is kept in every run, and which are enough: they keep it, and so does every "
      "larger choice. A second table has what is broken in mixtures alone.\n"
      "Example:\n"
      "  hooke mix scenarios/library/known_issues --jobs 2\n"
      "Exit codes: 0 every invariant kept by both the original and the all-hardened job is also "
      "kept by every mix; 1 one is not; 2 bad input; 3 the harness failed.");
  command->callback([options, &exit_code] { exit_code = mix(*options); });
}

}  // namespace hooke::cli
