// hooke shrink: makes the scenario of a failure small, tells how it goes, and judges what it wrote.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "reports/summary.h"
#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/interruption.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/shrinker.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {
namespace {

constexpr std::size_t kWidth = 100;

struct ShrinkFlags {
  std::string path;
  std::string out;
  std::string invariant;
  bool any_cause = false;
  std::size_t runs = hunt::ShrinkOptions().runs_max;
  double seconds = 60;
  std::optional<std::uint64_t> seed;
  std::string strategy;
  std::chrono::milliseconds real_time_limit = scenario::kRealTimeLimit;
};

/// One line that is written over and over on a terminal, a line per step elsewhere.
class ShrinkProgress {
 public:
  explicit ShrinkProgress(const kernel::Stopwatch& stopwatch)
      : terminal_(isatty(STDERR_FILENO) != 0), stopwatch_(stopwatch) {}
  ~ShrinkProgress() {
    if (terminal_) std::fputs("\r\x1b[K", stderr);
  }
  ShrinkProgress(const ShrinkProgress&) = delete;
  ShrinkProgress& operator=(const ShrinkProgress&) = delete;

  void step(const hunt::ShrinkStep& step) {
    last_ = step.what;
    if (!terminal_) fmt::print(stderr, "{:>6} runs  {}\n", step.runs, step.what);
  }
  void run(std::size_t runs) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\x1b[K{}",
               report::fit(fmt::format("{:>6} runs {:>7}  {}", runs,
                                       report::short_time(stopwatch_.elapsed()), last_),
                           kWidth));
    std::fflush(stderr);
  }

 private:
  bool terminal_;
  const kernel::Stopwatch& stopwatch_;
  std::string last_ = "looking for what can go";
};

std::size_t lines_of(const scenario::Scenario& scenario) {
  const std::string text = scenario::write_scenario(scenario);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string table(const scenario::Scenario& before, const scenario::Scenario& after) {
  const auto choices = [](const scenario::Scenario& scenario) {
    return scenario.tape ? scenario.tape->size() : 0;
  };
  std::string text = fmt::format("{:<18}{:>8}{:>8}\n", "", "before", "after");
  const auto row = [&](const char* what, std::size_t from, std::size_t to) {
    text += fmt::format("{:<18}{:>8}{:>8}\n", what, report::grouped(from), report::grouped(to));
  };
  row("nodes", before.cluster.nodes.size(), after.cluster.nodes.size());
  row("timeline", before.timeline.size(), after.timeline.size());
  row("lines of the file", lines_of(before), lines_of(after));
  if (before.tape) row("recorded choices", choices(before), choices(after));
  return text;
}

/// Plays scenarios, each for no longer than the flags allow.
struct ScenarioPlayer {
  kernel::Kernel& kernel;
  const properties::InvariantRegistry& invariants;
  std::chrono::milliseconds real_time_limit;

  [[nodiscard]] scenario::RunReport play(const scenario::Scenario& scenario,
                                         scenario::RunOptions options) const {
    options.wall_time_max = real_time_limit;
    return scenario::run(kernel, scenario, options, invariants);
  }
};

/// What fails in `start`, in one run, or else in two that must be equal; `report` is of the last.
std::optional<hunt::FailureKind> first_failure(const ScenarioPlayer& player,
                                               const scenario::Scenario& start,
                                               const std::string& invariant,
                                               scenario::RunReport& report) {
  scenario::RunOptions options;
  for (const bool twice : {false, true}) {
    options.determinism_check = twice;
    report = player.play(start, options);
    const auto target = hunt::target_of(report, invariant);
    if (target) return target;
  }
  return std::nullopt;
}

/// What `report` tells of that failure, with its names, numbers and times.
std::string witness_of(const scenario::RunReport& report, const hunt::FailureKind& kind) {
  for (const properties::Violation& violation : report.violations) {
    if (hunt::kind_of(violation) == kind) return violation.witness;
  }
  return report.harness_failure.empty() ? kind.cause : report.harness_failure;
}

/// The search, with its progress on standard error; nullopt when the failure does not come again.
std::optional<hunt::Shrunk> search(const ScenarioPlayer& player, const scenario::Scenario& start,
                                   hunt::ShrinkOptions options, double seconds,
                                   const kernel::Stopwatch& stopwatch) {
  ShrinkProgress progress(stopwatch);
  std::size_t runs = 0;
  options.on_step = [&](const hunt::ShrinkStep& step) { progress.step(step); };
  options.enough = [&] {
    progress.run(runs);
    return interrupted() || stopwatch.elapsed() > span_of(seconds);
  };
  return hunt::shrink(start, options,
                      [&](const auto& scenario, const scenario::RunOptions& run_options) {
                        ++runs;
                        return player.play(scenario, run_options);
                      });
}

/// How many runs the search took, and why it ended.
std::string effort_of(const hunt::Shrunk& shrunk, std::chrono::nanoseconds elapsed) {
  return fmt::format("\n{} runs in {}: {}\n\n", report::grouped(shrunk.runs),
                     report::short_time(elapsed),
                     shrunk.minimal  ? "without any line of it this failure is gone"
                     : interrupted() ? "interrupted, it may become smaller still"
                                     : "the budget was used up, it may become smaller still");
}

/// How the written scenario is judged.
report::Result judged(const ScenarioPlayer& player, const std::string& text, const std::string& out,
                      std::ostream& tell) {
  const report::Result result{
      out, false, player.play(scenario::load_scenario(text, out), scenario::RunOptions()), "sim"};
  report::Style style;
  style.colour = isatty(out.empty() ? STDERR_FILENO : STDOUT_FILENO) != 0;
  const std::size_t name_width = std::max<std::size_t>(20, result.run.name.size());
  tell << report::table_head(style, name_width) << report::row(result, style, name_width) << '\n'
       << report::explanation(result, style, true);
  return result;
}

int shrink(const ShrinkFlags& flags) {
  scenario::Scenario start = scenario::load_scenario_file(flags.path);
  if (flags.seed) {
    start.seed = *flags.seed;
    start.tape.reset();
  }
  OutputFile file("--output", flags.out);
  // The scenario itself, where no file is named, is all that goes to the standard output.
  std::ostream& tell = flags.out.empty() ? std::cerr : std::cout;

  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const kernel::Stopwatch stopwatch;
  const ScenarioPlayer player{kernel, invariants, flags.real_time_limit};
  if (const auto strategy = kernel::strategy_from(flags.strategy)) start.schedule = *strategy;
  scenario::RunReport report;
  const auto target = first_failure(player, start, flags.invariant, report);
  if (!target && !report.inconclusive.empty()) {
    std::cerr << fmt::format("{}: inconclusive: {}\n", flags.path, report.inconclusive);
    return kHarnessFailed;
  }
  if (!target) {
    tell << fmt::format(
        "{}: {} here; nothing to shrink\n", flags.path,
        flags.invariant.empty() ? "every invariant holds" : flags.invariant + " holds");
    return kSomethingFell;
  }
  tell << fmt::format("keeps    {}\n         {}\n\n", target->invariant,
                      report::wrap(witness_of(report, *target), kWidth - 9, "         "))
       << std::flush;

  hunt::ShrinkOptions options;
  options.target = *target;
  options.start = report;
  options.any_cause = flags.any_cause;
  options.runs_max = flags.runs;
  watch_for_interruption();
  const auto shrunk = search(player, start, std::move(options), flags.seconds, stopwatch);
  if (!shrunk) {
    std::cerr << flags.path << ": failed once and not a second time\n";
    return kHarnessFailed;
  }

  const std::string text = scenario::write_scenario(shrunk->scenario);
  if (flags.out.empty()) {
    std::cout << text << std::flush;
  } else {
    file << text;
    file.finish();
  }
  tell << table(start, shrunk->scenario) << effort_of(*shrunk, stopwatch.elapsed());

  const report::Result result = judged(player, text, flags.out, tell);
  const bool verified = result.run.harness_failure.empty() || target->invariant == "harness";
  return result.run.passed && verified && !interrupted() ? kAllHeld : kHarnessFailed;
}

}  // namespace

void add_shrink(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ShrinkFlags>();
  CLI::App* command = app.add_subcommand(
      "shrink", "Make the scenario of a failure as small as it can be and still fail alike");
  std::vector<std::string> invariants = properties::InvariantRegistry::with_builtins().ids();
  invariants.emplace_back("harness");  // a failure of hooke's own
  command->add_option("scenario", flags->path, "A scenario file whose run violates an invariant")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("-o,--output", flags->out,
                   "Write the small scenario there, not to the standard output")
      ->type_name("FILE");
  command
      ->add_option("--invariant", flags->invariant,
                   "The invariant that must stay broken, instead of the most severe one")
      ->check(CLI::IsMember(invariants).description("INVARIANT"));
  command->add_flag("--any-cause", flags->any_cause,
                    "In any way that violates it; without this, in the same way");
  command->add_option("--runs", flags->runs, "Give up after so many runs")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--seconds", flags->seconds, "Give up after that time")
      ->check(seconds_from(0))
      ->capture_default_str();
  add_real_time_limit(*command,
                      [flags](std::chrono::milliseconds limit) { flags->real_time_limit = limit; });
  command->add_option("--seed", flags->seed,
                      "Seed of all draws, instead of the scenario's own or its tape");
  command
      ->add_option(
          "--strategy", flags->strategy,
          "Scheduling of tasks that are ready at the same instant (overrides the scenario)")
      ->check(CLI::IsMember(kernel::strategy_names()));
  command->footer(
      "Nodes, faults, worker programs, settings, times, seed and recorded choices are all made "
      "smaller together.\n"
      "Examples:\n"
      "  hooke shrink bug.json -o small.json\n"
      "  hooke shrink bug.json --invariant safety.one_world > small.json\n"
      "Exit codes: 0 shrunk, or as small as it was; 1 nothing fails; 2 bad input; 3 the harness "
      "failed, the first run was inconclusive, or it was interrupted.");
  command->callback([flags, &exit_code] { exit_code = shrink(*flags); });
}

}  // namespace hooke::cli
