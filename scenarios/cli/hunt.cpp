#include "scenarios/cli/hunt.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "reports/exploration_summary.h"
#include "reports/exploration_table.h"
#include "reports/exports/campaign_junit.h"
#include "reports/page/campaign_page.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/interruption.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/progress.h"
#include "scenarios/cli/reproducers.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/cli/workforce.h"
#include "scenarios/format/json_lines.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kBetweenWorlds = '\t';  // JSON has none outside of texts, and escapes it in them

/// Index and number of shards from the variables of Slurm's arrays, and of GitLab's and CircleCI's
/// parallel jobs.
std::pair<std::uint64_t, std::uint64_t> shard_of_environment() {
  const auto number = [](const char* name) -> std::optional<std::uint64_t> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    char* end = nullptr;
    const std::uint64_t out = std::strtoull(value, &end, 10);
    if (*end != '\0') throw CLI::ValidationError("--shard", std::string(name) + " is no number");
    return out;
  };
  if (const auto index = number("SLURM_ARRAY_TASK_ID"), of = number("SLURM_ARRAY_TASK_COUNT");
      index && of) {
    return {*index - number("SLURM_ARRAY_TASK_MIN").value_or(0), *of};
  }
  if (const auto index = number("CIRCLE_NODE_INDEX"), of = number("CIRCLE_NODE_TOTAL");
      index && of) {
    return {*index, *of};
  }
  // GitLab counts from 1.
  if (const auto index = number("CI_NODE_INDEX"), of = number("CI_NODE_TOTAL"); index && of) {
    return {*index - 1, *of};
  }
  throw CLI::ValidationError(
      "--shard", "expected the variables of a Slurm array, GitLab or CircleCI for \"auto\"");
}

hunt::KnownIssues known_issues_below(
    const std::string& directory,
    const std::function<bool(const scenario::Scenario&)>& could_be_met,
    const properties::InvariantRegistry& invariants) {
  hunt::KnownIssues known_issues;
  if (directory.empty()) return known_issues;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  kernel::Kernel kernel;
  for (const std::string& file : files) {
    const scenario::Scenario scenario = scenario::load_scenario_file(file);
    if (!could_be_met(scenario)) continue;
    const hunt::KnownIssue known_issue = hunt::known_issue_of(kernel, scenario, invariants);
    if (!known_issue.kinds.empty()) known_issues.push_back(known_issue);
  }
  return known_issues;
}

std::string write_worlds(const std::vector<hunt::WorldResult>& worlds) {
  std::string line;
  for (const hunt::WorldResult& world : worlds) {
    if (!line.empty()) line += kBetweenWorlds;
    line += hunt::write_world(world);
  }
  return line;
}

std::vector<hunt::WorldResult> load_worlds(const std::string& line) {
  std::vector<hunt::WorldResult> worlds;
  std::istringstream in(line);
  for (std::string one; std::getline(in, one, kBetweenWorlds);) {
    worlds.push_back(hunt::load_world(one, "a process of this command"));
  }
  return worlds;
}

}  // namespace

report::PlaceOf junit_places(const std::string& scenario) {
  return [scenario](const hunt::Finding& finding) {
    const std::string& file = finding.reproducer.empty() ? scenario : finding.reproducer;
    if (file.empty() || !fs::is_regular_file(file)) return report::JunitPlace{};
    const auto line = scenario::line_of(scenario::read_file(file), "expect.holds");
    return report::JunitPlace{file, line.value_or(1)};
  };
}

void add_hunt_options(CLI::App& command, HuntOptions& options) {
  command.add_option("--time", options.seconds, "Begin no more after so many seconds")
      ->check(seconds_from(0));
  command.add_option("--jobs", options.jobs, "Processes that play worlds")
      ->check(CLI::Range(1, 1'024))
      ->capture_default_str();
  command.add_option("--shard", options.shard,
                     "INDEX/COUNT: only this part; /COUNT: with the index of a Kubernetes indexed "
                     "job; auto: from a Slurm array, GitLab or CircleCI");
  command
      .add_option("--known-issues", options.known_issues,
                  "Directory of scenarios: count the worlds that fail like them")
      ->check(CLI::ExistingDirectory);
  command.add_option("--results", options.results, "Write what was seen as JSON, for hooke report")
      ->type_name("FILE");
  command
      .add_option("--html", options.html, "Write what was seen as a page to look at in a browser")
      ->type_name("FILE");
  command
      .add_option(
          "--reproducers", options.reproducers,
          "Write for each way in which invariants were violated one world, made small, into this "
          "directory")
      ->type_name("DIR");
  command
      .add_option("--junit", options.junit,
                  "Write each way in which invariants were violated, and each invariant that was "
                  "kept, as JUnit XML")
      ->type_name("FILE");
  // The words of earlier versions.
  CLI::deprecate_option(
      command.add_option("--museum", options.known_issues)->check(CLI::ExistingDirectory),
      "--known-issues");
  CLI::deprecate_option(command.add_option("--capsules", options.reproducers)->type_name("DIR"),
                        "--reproducers");
  command.add_option("--print", options.print,
                     "Only print the world of this number, as a scenario file");
  command.add_flag(
      "--all", options.all,
      "Tell each way in which an invariant was violated, and what of each invariant was "
      "judged, instead of a summary");
  command.add_flag("--json", options.json, "Print what was seen as JSON");
}

hunt::Shard shard_of(const std::string& given, std::uint64_t first, std::uint64_t count) {
  hunt::Shard shard{first, count, 0, 1};
  if (count > UINT64_MAX - first) {
    throw CLI::ValidationError("--first", "expected numbers of worlds of at most 64 bits");
  }
  if (given.empty()) return shard;
  if (given == "auto") {
    std::tie(shard.index, shard.of) = shard_of_environment();
  } else {
    std::string text = given;
    if (const char* const index = std::getenv("JOB_COMPLETION_INDEX");
        text.starts_with('/') && index != nullptr) {
      text = index + text;
    }
    char slash = 0;
    std::istringstream in(text);
    if (!(in >> shard.index >> slash >> shard.of) || slash != '/' || !in.eof()) {
      throw CLI::ValidationError("--shard",
                                 "expected INDEX/COUNT, /COUNT or auto, got \"" + given + "\"");
    }
  }
  if (shard.of == 0 || shard.of > hunt::Shard::kOfMax || shard.index >= shard.of) {
    throw CLI::ValidationError("--shard",
                               "expected an index from 0 to COUNT - 1, and a COUNT of at most " +
                                   std::to_string(hunt::Shard::kOfMax));
  }
  if (shard.index >= count) {
    throw CLI::ValidationError("--shard", "part " + std::to_string(shard.index) + " of " +
                                              std::to_string(shard.of) + " has none of the " +
                                              std::to_string(count) + " worlds");
  }
  return shard;
}

int Hunt::run(const HuntOptions& options) {
  if (options.print) {
    kernel::Kernel kernel;
    std::cout << scenario::write_scenario(world(kernel, *options.print));
    return kAllHeld;
  }
  OutputFile results("--results", options.results), html("--html", options.html),
      junit("--junit", options.junit);
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const hunt::KnownIssues known_issues =
      known_issues_below(options.known_issues, could_be_met, invariants);
  hunt::Exploration exploration;
  exploration.space = space;
  const auto number_of = [&](std::uint64_t task) {
    return shard.first + shard.index + task * shard.of;
  };
  const std::uint64_t planned =
      shard.count / shard.of + (shard.index < shard.count % shard.of ? 1 : 0);
  std::uint64_t over = 0;

  Progress progress(!options.json);
  std::unique_ptr<kernel::Kernel> own_kernel;  // of the process that works
  Workforce workforce;
  workforce.jobs = options.jobs;
  workforce.work = [&](std::uint64_t task) {
    if (!own_kernel) own_kernel = std::make_unique<kernel::Kernel>();
    return write_worlds(play(*own_kernel, number_of(task), invariants));
  };
  workforce.done = [&](std::uint64_t, const std::string& line) {
    ++over;
    for (const hunt::WorldResult& result : load_worlds(line)) exploration.add(result, known_issues);
  };
  workforce.crashed = [&](std::uint64_t task, const std::string& how) {
    ++over;
    hunt::WorldResult result;
    result.seed = number_of(task);
    result.kinds = {{"harness", "the process that played the world was " + how}};
    exploration.add(result, known_issues);
  };
  workforce.more = [&] {
    progress.show(exploration, over, planned, options.seconds);
    const std::chrono::duration<double> elapsed = progress.elapsed();
    return !interrupted() && (options.seconds == 0 || elapsed.count() < options.seconds);
  };
  watch_for_interruption();
  const std::uint64_t given = workforce.run(planned);
  progress.clear();
  exploration.wall = progress.elapsed();
  if (given == 0) {
    std::cerr << "no world was played: the command was interrupted, or its --time was too short\n";
    return kHarnessFailed;
  }
  exploration.not_begun = planned - given;
  if (given < planned) shard.count = given == 0 ? 0 : number_of(given - 1) + 1 - shard.first;
  exploration.shards = {shard};
  return tell(exploration, options, results, html, junit);
}

int Hunt::tell(hunt::Exploration& exploration, const HuntOptions& options, OutputFile& results,
               OutputFile& html, OutputFile& junit) {
  if (!options.reproducers.empty()) {
    write_reproducers(
        exploration,
        [&](kernel::Kernel& kernel, const hunt::FailureKind&, const hunt::Finding& finding) {
          return world(kernel, finding.first_seed);
        },
        options.reproducers, options.jobs, options.json);
  }
  if (!options.results.empty()) results << hunt::write_exploration(exploration);
  results.finish();
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const report::CampaignContent content{&exploration, &invariants, title, command};
  if (html.is_open()) html << report::campaign_page(content);
  html.finish();
  if (junit.is_open()) junit << report::campaign_junit(content, junit_places(scenario));
  junit.finish();
  constexpr const char* kNext =
      "next: the same command with --print SEED > world.json, then hooke explain world.json\n";
  if (options.json) {
    std::cout << hunt::write_exploration(exploration);
  } else if (options.all) {
    std::cout << report::exploration_table(exploration, style_of_terminal());
  } else {
    std::cout << report::exploration_summary(exploration, style_of_terminal(),
                                             exploration.ways() == 0 ? "" : kNext);
  }
  return exit_code_of(exploration);
}

int exit_code_of(const hunt::Exploration& exploration) {
  if (exploration.determinism_failures != 0) return kHarnessFailed;
  for (const auto& [kind, finding] : exploration.findings) {
    if (kind.invariant == "harness") return kHarnessFailed;
  }
  return exploration.ways() == 0 ? kAllHeld : kSomethingFell;
}

}  // namespace hooke::cli
