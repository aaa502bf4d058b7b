// hooke explain: asks for the three answers one after the other, and tells each in the terminal, as
// JSON, or on a page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "reports/explanation.h"
#include "reports/findings.h"
#include "reports/page/run_page.h"
#include "reports/timeline.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/interruption.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/explainer.h"

namespace hooke::cli {
namespace {

struct ExplainFlags {
  std::string path;
  std::string invariant;
  std::size_t moments = hunt::ExplainOptions().moments;
  std::size_t futures = hunt::ExplainOptions().futures;
  std::size_t worlds = hunt::ExplainOptions().worlds;
  std::optional<std::uint64_t> seed;
  std::string strategy;
  std::string html_path;
  std::chrono::milliseconds real_time_limit = scenario::kRealTimeLimit;
  bool json = false;
};

/// Plays scenarios for the explainer, on a kernel of its own.
class Player {
 public:
  explicit Player(const ExplainFlags& flags) : flags_(flags) {}
  scenario::RunReport run(const scenario::Scenario& what, scenario::RunOptions options) {
    options.wall_time_max = flags_.real_time_limit;
    return scenario::run(kernel_, what, options, invariants_);
  }
  [[nodiscard]] const properties::InvariantRegistry& invariants() const { return invariants_; }

 private:
  const ExplainFlags& flags_;
  kernel::Kernel kernel_;
  const properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

std::string meaning_of(const properties::InvariantRegistry& invariants, const std::string& id) {
  for (const auto& invariant : invariants.make_all()) {
    if (invariant->id() == id) return std::string(invariant->meaning());
  }
  return {};
}

/// Finds the answers one after the other, and hands the text of each to `tell` as soon as it is
/// there. nullopt: the failure did not come a second time.
std::optional<report::Explanation> explained(
    const scenario::Scenario& scenario, const hunt::FailureKind& target, Player& player,
    const ExplainFlags& flags, const report::Style& style,
    const std::function<void(const std::string& text)>& tell) {
  hunt::ExplainOptions options;
  options.target = target;
  options.moments = flags.moments;
  options.futures = flags.futures;
  options.worlds = flags.worlds;
  options.phrase = report::Phrases{};
  options.enough = interrupted;
  const hunt::RunScenario run = [&](const auto& what, const scenario::RunOptions& run_options) {
    return player.run(what, run_options);
  };
  const std::optional<hunt::CausalStory> story = hunt::causes_of_failure(scenario, options, run);
  if (!story) return std::nullopt;
  report::Explanation explanation;
  explanation.invariant = target.invariant;
  explanation.meaning = meaning_of(player.invariants(), target.invariant);
  explanation.worlds = flags.worlds;
  explanation.story = *story;
  tell(report::story_text(explanation, style));
  explanation.no_return = hunt::find_point_of_no_return(scenario, story->at, options, run);
  tell(report::no_return_text(explanation, style));
  explanation.counterfactuals = hunt::find_counterfactuals(scenario, options, run);
  explanation.interrupted = interrupted();
  tell(report::counterfactuals_text(explanation, style));
  return explanation;
}

/// What else the run violates, so that the first finding hides no other.
std::vector<std::string> other_invariants(const report::Result& result,
                                          const properties::InvariantRegistry& invariants,
                                          const std::string& explained) {
  std::vector<std::string> others;
  for (const report::Finding& finding : report::findings_of(result.run, invariants)) {
    if (finding.weight == report::Weight::unavoidable || finding.invariant == explained) continue;
    others.push_back(finding.invariant);
  }
  return others;
}

/// The whole explanation as JSON, or below its text the commands that explain the rest.
void tell_others(const report::Explanation& explanation, const std::vector<std::string>& others,
                 const ExplainFlags& flags) {
  if (flags.json) {
    nlohmann::ordered_json json = report::explanation_json(explanation);
    json["also_violated"] = others;
    std::cout << json.dump(2) << '\n';
  } else if (!others.empty()) {
    std::cout << "\nThe same run also violates:\n";
    for (const std::string& other : others) {
      std::cout << fmt::format("  {:<28} hooke explain {} --invariant {}\n", other, flags.path,
                               other);
    }
  }
}

int explain(const ExplainFlags& flags) {
  scenario::Scenario scenario = scenario::load_scenario_file(flags.path);
  if (flags.seed) {
    scenario.seed = *flags.seed;
    scenario.tape.reset();
  }
  if (const auto strategy = kernel::strategy_from(flags.strategy)) scenario.schedule = *strategy;
  OutputFile html("--html", flags.html_path);
  watch_for_interruption();
  Player player(flags);
  report::RunRecord record(scenario.machine_names());
  scenario::RunOptions first;
  first.sinks.push_back(&record);
  report::Result result{flags.path, scenario.canary, player.run(scenario, first)};
  record.finish(result.run.judged_at);
  if (!result.run.harness_failure.empty()) {
    std::cerr << flags.path << ": " << result.run.harness_failure << '\n';
    return kHarnessFailed;
  }
  const std::optional<hunt::FailureKind> target = hunt::target_of(result.run, flags.invariant);
  if (!target && !result.run.inconclusive.empty()) {
    std::cerr << fmt::format("{}: inconclusive: {}\n", flags.path, result.run.inconclusive);
    return kHarnessFailed;
  }
  if (!target) {
    std::cerr << fmt::format(
        "{}: {} here; nothing to explain\n", flags.path,
        flags.invariant.empty() ? "every invariant holds" : flags.invariant + " holds");
    return kSomethingFell;
  }
  const std::vector<std::string> others =
      other_invariants(result, player.invariants(), target->invariant);
  const bool quiet = flags.json;
  const auto explanation = explained(scenario, *target, player, flags, style_of_terminal(),
                                     [&](const std::string& text) {
                                       if (!quiet) std::cout << text << std::flush;
                                     });
  if (!explanation) {
    std::cerr << flags.path << ": failed once and not a second time\n";
    return kHarnessFailed;
  }
  tell_others(*explanation, others, flags);
  const auto code = [] { return interrupted() ? kHarnessFailed : kAllHeld; };
  if (!html.is_open()) return code();
  report::PageContent page{&result, &scenario, &record, &player.invariants(), {*explanation}};
  for (const std::string& other : others) {
    const auto kind = hunt::target_of(result.run, other);
    if (!kind || interrupted()) continue;
    auto more = explained(scenario, *kind, player, flags, {}, [](const std::string&) {});
    if (more) page.explanations.push_back(std::move(*more));
  }
  html << report::run_page(page);
  html.finish();
  return code();
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand(
      "explain", "Tell why a scenario fails: its causes, when it was too late, what averts it");
  const std::vector<std::string> invariants = properties::InvariantRegistry::with_builtins().ids();
  command->add_option("scenario", flags->path, "A scenario file whose run violates an invariant")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--invariant", flags->invariant,
                   "The violated invariant to explain, instead of the most severe one")
      ->check(CLI::IsMember(invariants).description("INVARIANT"));
  command->add_option("--moments", flags->moments, "From how many moments other futures begin")
      ->check(CLI::Range(std::size_t{2}, std::size_t{1'000}))
      ->capture_default_str();
  command->add_option("--futures", flags->futures, "How many futures from each of them")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
  command
      ->add_option("--worlds", flags->worlds, "Seeds under which a change must avert the failure")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
  command->add_option("--seed", flags->seed,
                      "Seed of all draws, instead of the scenario's own or its tape");
  command
      ->add_option(
          "--strategy", flags->strategy,
          "Scheduling of tasks that are ready at the same instant (overrides the scenario)")
      ->check(CLI::IsMember(kernel::strategy_names()));
  add_real_time_limit(*command,
                      [flags](std::chrono::milliseconds limit) { flags->real_time_limit = limit; });
  command->add_flag("--json", flags->json, "Print all of it as JSON");
  command
      ->add_option("--html", flags->html_path,
                   "Write the run as a page that explains each of its violations")
      ->type_name("FILE");
  command->footer(
      "A scenario that hooke shrink has made small is explained best.\n"
      "Examples:\n"
      "  hooke explain small.json\n"
      "  hooke explain small.json --html explained.html\n"
      "  hooke explain small.json --invariant safety.bounds --futures 50\n"
      "Exit codes: 0 explained; 1 nothing fails; 2 bad input; 3 the harness failed, the run was "
      "inconclusive, or the command was interrupted (what it had found is told).");
  command->callback([flags, &exit_code] { exit_code = explain(*flags); });
}

}  // namespace hooke::cli
