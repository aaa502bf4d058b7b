// hooke explain: asks for the three answers one after the other and lays them out for a terminal,
// or as JSON.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "reports/summary.h"
#include "reports/text.h"
#include "reports/timeline.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/explainer.h"

namespace hooke::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kShareWidth = kBarWidth + 8;

struct ExplainFlags {
  std::string path;
  std::string invariant;
  std::size_t moments = hunt::ExplainOptions().moments;
  std::size_t futures = hunt::ExplainOptions().futures;
  std::size_t worlds = hunt::ExplainOptions().worlds;
  std::optional<std::uint64_t> seed;
  std::string strategy;
  std::chrono::milliseconds real_time_limit = scenario::kRealTimeLimit;
  bool json = false;
};

struct Answers {
  std::string invariant;
  std::string meaning;
  hunt::CausalStory story;
  hunt::NoReturn no_return;
  std::vector<hunt::Counterfactual> counterfactuals;
  std::size_t worlds = 0;
};

std::string at_text(sim::WorldTime at) {
  return report::seconds(at.time_since_epoch()) + " s";
}

class Page {
 public:
  Page() {
    style_.colour = isatty(STDOUT_FILENO) != 0;
    winsize size{};
    if (style_.colour && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
      style_.width = size.ws_col;
  }
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  [[nodiscard]] std::string heading(const std::string& text, const std::string& note) const {
    return "\n" + paint("1", text) + (note.empty() ? "" : "  " + paint("2", note)) + "\n";
  }
  [[nodiscard]] std::size_t width() const { return style_.width; }

 private:
  report::Style style_;
};

void tell_violation(const Page& page, const Answers& answers) {
  std::cout << page.paint("31;1", answers.invariant) << " is violated at "
            << at_text(answers.story.at) << "\n  "
            << report::wrap(answers.story.witness, page.width() - 2, "  ") << '\n';
  if (!answers.meaning.empty()) {
    std::cout << "  " << page.paint("2", "promised: " + answers.meaning) << '\n';
  }
}

void causes_of_failure(const Page& page, const Answers& answers) {
  std::cout << page.heading("How it came about", "the causes of the failure in order of time");
  std::size_t name_width = 1;
  for (const hunt::CauseLine& line : answers.story.lines) {
    name_width = std::max(name_width, line.node.size());
  }
  name_width = std::min<std::size_t>(name_width, 16);
  const auto row = [&](sim::WorldTime at, const std::string& node, const std::string& text) {
    return fmt::format("{:>13}  {}  {}", at_text(at),
                       report::pad(report::fit(node, name_width), name_width), text);
  };
  for (const hunt::CauseLine& line : answers.story.lines) {
    std::string text = line.what;
    if (line.times > 1) text += fmt::format("  ({} times)", line.times);
    if (line.until > line.at) text += "  until " + at_text(line.until);
    text = report::fit(row(line.at, line.node, text), page.width());
    std::cout << (line.what.starts_with("***") ? page.paint("33;1", text) : text) << '\n';
  }
  std::cout << page.paint("31;1", row(answers.story.at, "", answers.invariant + " is broken"))
            << '\n';
}

std::string bar(const hunt::Share& share) {
  if (share.runs == 0) return "";
  const std::size_t full = share.failed * kBarWidth / share.runs;
  std::string text;
  for (std::size_t i = 0; i < kBarWidth; ++i) text += i < full ? "█" : "·";
  return text + fmt::format(" {}/{}", share.failed, share.runs);
}

/// One sentence about where a share rises to certainty.
std::string verdict_on(const std::optional<hunt::CauseLine>& turn, bool certain_at_first,
                       const std::string& given) {
  if (!turn) return given + " it could be averted until the very end";
  if (certain_at_first) return given + " it was certain from the beginning";
  return fmt::format("{} nothing averts it after {}: {}{}", given, at_text(turn->at),
                     turn->node.empty() ? "" : turn->node + " ", turn->what);
}

void tell_no_return(const Page& page, const Answers& answers) {
  const std::vector<hunt::Futures>& futures = answers.no_return.futures;
  if (futures.empty()) return;
  const bool faults = futures.front().left_alone.runs > 0;
  std::cout << page.heading("Point of no return",
                            "how many other futures of the same past fail, too");
  std::cout << fmt::format("{:>13}  {}{}\n", "until",
                           faults ? report::pad("as the scenario goes on", kShareWidth + 2) : "",
                           faults ? "left alone from then on" : "drawn anew from then on");
  const auto turns_here = [](const hunt::Futures& each,
                             const std::optional<hunt::CauseLine>& turn) {
    return turn && turn->at <= each.moment;
  };
  bool told = false;
  const auto& turn = faults ? answers.no_return.left_alone : answers.no_return.as_it_goes_on;
  for (const hunt::Futures& each : futures) {
    const std::string first = bar(each.as_it_goes_on);
    std::string line =
        fmt::format("{:>13}  {}{}", at_text(each.moment),
                    faults ? report::pad(first, kShareWidth + 2) : first, bar(each.left_alone));
    const bool here = !told && turns_here(each, turn);
    if (here) line = page.paint("31;1", line + "  ◀");
    told = told || here;
    std::cout << line << '\n';
  }
  const auto sentence = [&](const std::string& text) {
    std::cout << "  " << report::wrap(text, page.width() - 2, "  ") << '\n';
  };
  sentence(verdict_on(answers.no_return.as_it_goes_on, futures.front().as_it_goes_on.certain(),
                      "Whatever is drawn,"));
  if (faults) {
    sentence(verdict_on(answers.no_return.left_alone, futures.front().left_alone.certain(),
                        "Left alone,"));
  }
}

void tell_counterfactuals(const Page& page, const Answers& answers) {
  std::cout << page.heading("What averts it",
                            fmt::format("each held in {} worlds, run twice", answers.worlds));
  if (answers.counterfactuals.empty()) {
    std::cout << "  none of the single changes that were tried\n";
    return;
  }
  for (const hunt::Counterfactual& each : answers.counterfactuals) {
    std::cout << page.paint(each.broken_instead.empty() ? "32;1" : "33", "  ✓ ") << each.change;
    if (!each.broken_instead.empty()) {
      std::cout << fmt::format("  (but breaks {})", fmt::join(each.broken_instead, ", "));
    }
    std::cout << '\n';
  }
}

ordered_json share_json(const hunt::Share& share) {
  return {{"failed", share.failed}, {"runs", share.runs}};
}

ordered_json line_json(const hunt::CauseLine& line) {
  ordered_json out{{"at_ns", line.at.time_since_epoch().count()}};
  if (!line.node.empty()) out["node"] = line.node;
  out["what"] = line.what;
  if (line.times > 1) out["times"] = line.times;
  if (line.until > line.at) out["until_ns"] = line.until.time_since_epoch().count();
  return out;
}

std::string to_json(const Answers& answers) {
  ordered_json out{{"invariant", answers.invariant},
                   {"at_ns", answers.story.at.time_since_epoch().count()},
                   {"witness", answers.story.witness}};
  out["story"] = ordered_json::array();
  for (const hunt::CauseLine& line : answers.story.lines) out["story"].push_back(line_json(line));
  ordered_json& no_return = out["point_of_no_return"];
  no_return["futures"] = ordered_json::array();
  for (const hunt::Futures& each : answers.no_return.futures) {
    ordered_json future{{"until_ns", each.moment.time_since_epoch().count()},
                        {"as_it_goes_on", share_json(each.as_it_goes_on)}};
    if (each.left_alone.runs > 0) future["left_alone"] = share_json(each.left_alone);
    no_return["futures"].push_back(future);
  }
  if (answers.no_return.as_it_goes_on)
    no_return["as_it_goes_on"] = line_json(*answers.no_return.as_it_goes_on);
  if (answers.no_return.left_alone)
    no_return["left_alone"] = line_json(*answers.no_return.left_alone);
  out["counterfactuals"] = ordered_json::array();
  for (const hunt::Counterfactual& each : answers.counterfactuals) {
    out["counterfactuals"].push_back({{"change", each.change},
                                      {"before", share_json(each.before)},
                                      {"after", share_json(each.after)},
                                      {"broken_instead", each.broken_instead}});
  }
  return out.dump(2) + "\n";
}

/// Finds the answers one after the other, and tells each as soon as it is there.
int answer(const scenario::Scenario& scenario, const hunt::ExplainOptions& options,
           const hunt::RunScenario& run, const ExplainFlags& flags, Answers answers) {
  const std::optional<hunt::CausalStory> story = hunt::causes_of_failure(scenario, options, run);
  if (!story) {
    std::cerr << flags.path << ": failed once and not a second time\n";
    return kHarnessFailed;
  }
  answers.story = *story;
  const Page page;
  if (!flags.json) {
    tell_violation(page, answers);
    causes_of_failure(page, answers);
    std::cout << std::flush;
  }
  answers.no_return = hunt::find_point_of_no_return(scenario, story->at, options, run);
  if (!flags.json) {
    tell_no_return(page, answers);
    std::cout << std::flush;
  }
  answers.counterfactuals = hunt::find_counterfactuals(scenario, options, run);
  if (flags.json) {
    std::cout << to_json(answers);
  } else {
    tell_counterfactuals(page, answers);
  }
  return kAllHeld;
}

int explain(const ExplainFlags& flags) {
  scenario::Scenario scenario = scenario::load_scenario_file(flags.path);
  if (flags.seed) {
    scenario.seed = *flags.seed;
    scenario.tape.reset();
  }
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const hunt::RunScenario run = [&](const auto& what, scenario::RunOptions run_options) {
    run_options.wall_time_max = flags.real_time_limit;
    return scenario::run(kernel, what, run_options, invariants);
  };
  scenario::RunOptions first;
  if (const auto strategy = kernel::strategy_from(flags.strategy)) scenario.schedule = *strategy;
  const scenario::RunReport report = run(scenario, first);
  if (!report.harness_failure.empty()) {
    std::cerr << flags.path << ": " << report.harness_failure << '\n';
    return kHarnessFailed;
  }
  hunt::ExplainOptions options;
  const std::optional<hunt::FailureKind> target =
      hunt::target_of(scenario, report, flags.invariant);
  if (!target && !report.inconclusive.empty()) {
    std::cerr << fmt::format("{}: inconclusive: {}\n", flags.path, report.inconclusive);
    return kHarnessFailed;
  }
  if (!target) {
    std::cerr << fmt::format(
        "{}: {} here; nothing to explain\n", flags.path,
        flags.invariant.empty() ? "every invariant holds" : flags.invariant + " holds");
    return kSomethingFell;
  }
  options.target = *target;
  options.moments = flags.moments;
  options.futures = flags.futures;
  options.worlds = flags.worlds;
  options.phrase = report::phrase;

  Answers answers;
  answers.invariant = target->invariant;
  answers.worlds = flags.worlds;
  for (const auto& invariant : invariants.make_all()) {
    if (invariant->id() == target->invariant) answers.meaning = invariant->meaning();
  }
  return answer(scenario, options, run, flags, std::move(answers));
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand(
      "explain", "Tell why a scenario fails: its causes, when it was too late, what averts it");
  const std::vector<std::string> invariants = properties::InvariantRegistry::with_builtins().ids();
  command->add_option("scenario", flags->path, "A scenario file whose run violates an invariant")
      ->required();
  command
      ->add_option("--invariant", flags->invariant,
                   "The violated invariant to explain, instead of the first unexpected one")
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
          "Which of those who are ready at one instant runs next, instead of the scenario's own")
      ->check(CLI::IsMember(kernel::strategy_names()));
  add_real_time_limit(*command,
                      [flags](std::chrono::milliseconds limit) { flags->real_time_limit = limit; });
  command->add_flag("--json", flags->json, "Print all of it as JSON");
  command->footer(
      "A scenario that hooke shrink has made small is explained best.\n"
      "Examples:\n"
      "  hooke explain small.json\n"
      "  hooke explain small.json --invariant safety.bounds --futures 50\n"
      "Exit codes: 0 explained; 1 nothing fails; 2 bad input; 3 the harness failed, or the run was "
      "inconclusive.");
  command->callback([flags, &exit_code] { exit_code = explain(*flags); });
}

}  // namespace hooke::cli
