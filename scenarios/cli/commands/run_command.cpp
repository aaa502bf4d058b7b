// hooke run: collects the files, runs them one after the other, and reports.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "reports/exports/perfetto.h"
#include "reports/exports/sarif.h"
#include "reports/exports/shiviz.h"
#include "reports/machine.h"
#include "reports/page/run_page.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/trace_file.h"
#include "scenarios/cli/calibration_file.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/export_files.h"
#include "scenarios/cli/guests.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/cli/scenario_files.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/cli/timeline_options.h"
#include "scenarios/format/json_lines.h"
#include "scenarios/format/loader.h"
#include "scenarios/guest/guest_runner.h"
#include "scenarios/real/real_runner.h"
#include "scenarios/simulated/runner.h"

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::vector<std::string> paths;
  std::optional<std::uint64_t> seed;
  std::string strategy;
  std::string trace_path;
  std::string junit_path;
  std::string html_path;
  ExportPaths exports;
  bool json = false;
  TimelineOptions timeline;
  bool once = false;
  bool explain = false;
  std::optional<std::chrono::milliseconds> real_time_limit;
  std::optional<scenario::Calibration> calibration;
  std::vector<std::string> worlds{"sim"};
};

bool is_simulated(const std::string& world) {
  return world == "sim" || world == "pytorch";
}

/// Everything that looks at the events of one run while it goes.
class Listeners {
 public:
  /// `trace`, `shiviz`: null for none.
  Listeners(const RunOptions& options, std::ostream* trace, std::ostream* shiviz,
            const std::vector<std::string>& names, const report::Style& style) {
    if (trace != nullptr) sinks_.push_back(&trace_file_.emplace(*trace, names));
    if (shiviz != nullptr) sinks_.push_back(&shiviz_.emplace(*shiviz, names));
    if (options.timeline.wanted) {
      sinks_.push_back(&timeline_.emplace(timeline_of(std::cout, names, style, options.timeline)));
    }
    const bool recorded = !options.html_path.empty() || !options.exports.perfetto.empty();
    if (recorded) sinks_.push_back(&record_.emplace(names));
    if (!options.html_path.empty()) sinks_.push_back(&causes_.emplace(report::Phrases{}, names));
  }
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  [[nodiscard]] const std::vector<kernel::TraceSink*>& sinks() const { return sinks_; }
  /// With --html or --perfetto.
  [[nodiscard]] report::RunRecord& record() { return *record_; }
  /// With --html.
  [[nodiscard]] const hunt::CauseRecorder& causes() const { return *causes_; }
  /// After the run.
  void finish(sim::WorldTime judged_at) {
    if (trace_file_) trace_file_->finish(judged_at);
    if (record_) record_->finish(judged_at);
  }

 private:
  std::optional<report::TraceFile> trace_file_;
  std::optional<report::Timeline> timeline_;
  std::optional<report::RunRecord> record_;
  std::optional<hunt::CauseRecorder> causes_;
  std::optional<report::ShivizLog> shiviz_;
  std::vector<kernel::TraceSink*> sinks_;
};

/// `zygote`: whose guests are the agents; null: hooke's own are.
report::Result run_simulated(const std::string& file, const scenario::Scenario& scenario,
                             const RunOptions& options,
                             const properties::InvariantRegistry& invariants,
                             const Listeners& listeners, guest::Zygote* zygote) {
  kernel::Kernel kernel;  // not longer: a real process on this thread has one of its own
  scenario::RunOptions run_options;
  run_options.seed = options.seed;
  run_options.determinism_check = !options.once;
  run_options.sinks = listeners.sinks();
  if (options.real_time_limit) run_options.wall_time_max = *options.real_time_limit;
  if (const auto strategy = kernel::strategy_from(options.strategy))
    run_options.schedule = *strategy;
  // Python takes its time, most of it for its own code.
  constexpr std::chrono::minutes kOfGuests{10};
  if (zygote != nullptr) run_options.wall_time_max = options.real_time_limit.value_or(kOfGuests);
  if (zygote == nullptr) {
    return {file, scenario.canary, scenario::run(kernel, scenario, run_options, invariants), "sim"};
  }
  return {file, scenario.canary,
          scenario::run_with_guests(kernel, scenario, run_options, invariants, *zygote), "pytorch"};
}

/// What plays the agents of a world that is not simulated. ScenarioError when nothing can.
scenario::AgentProgram cast_of(const std::string& world) {
  scenario::AgentProgram program;
  program.hooke = fs::read_symlink("/proc/self/exe").string();
  if (world == "real") return program;
  program.kind = scenario::AgentKind::torchrun;
  const char* const command = std::getenv("HOOKE_TORCHRUN");
  if (command == nullptr || *command == '\0') {
    throw scenario::ScenarioError(
        "--world torchrun: expected HOOKE_TORCHRUN to hold torchrun's command, got nothing");
  }
  program.torchrun = command;
  return program;
}

report::Result run_really(const std::string& file, const std::string& world,
                          const scenario::Scenario& scenario, const RunOptions& options,
                          const properties::InvariantRegistry& invariants,
                          const Listeners& listeners) {
  scenario::RealOptions real_options;
  real_options.program = cast_of(world);
  real_options.sinks = listeners.sinks();
  if (options.real_time_limit) real_options.time_max = *options.real_time_limit;
  return {file, scenario.canary, scenario::run_real(scenario, real_options, invariants), world};
}

/// The machines of a run in that world, by NodeId.
std::vector<std::string> machines_of(const scenario::Scenario& scenario, const std::string& world) {
  std::vector<std::string> names = scenario.machine_names();
  if (!is_simulated(world) && names.back() != "store") names.emplace_back("store");
  return names;
}

int exit_code_of(const std::vector<report::Result>& results) {
  bool fell = report::differing(results) > 0;
  bool cut = false;
  for (const report::Result& result : results) {
    if (!result.run.harness_failure.empty() || result.run.trace_difference) return kHarnessFailed;
    if (!result.supported()) continue;
    cut = cut || !result.conclusive();
    fell = fell || (result.conclusive() && !result.good());
  }
  return fell ? kSomethingFell : cut ? kHarnessFailed : kAllHeld;
}

struct LoadedScenario {
  std::string file;
  scenario::Scenario scenario;
  std::string text;  ///< with --junit, which tells lines of it
};

/// Says beforehand what a large run needs. The figures were measured with c10d and 10,000 to 100,000
/// nodes of a worker each; a run that is checked for determinism takes twice the time.
void tell_needs(const std::string& file, const scenario::Scenario& scenario) {
  constexpr double kLarge = 10'000;
  constexpr double kBytesOfProcess = 22e3;
  constexpr double kSecondsPerProcessAndSecond = 2e-5;
  const auto nodes = static_cast<double>(scenario.cluster.nodes.size());
  if (nodes < kLarge) return;
  const double processes = nodes * (1 + static_cast<double>(scenario.workers.per_node));
  std::fprintf(stderr,
               "hooke: %s: %.0f agents and %.0f workers: about %.1f GB of memory, and in the order "
               "of %.1f s of real time for each second of virtual time\n",
               file.c_str(), nodes, processes - nodes, processes * kBytesOfProcess / 1e9,
               processes * kSecondsPerProcessAndSecond);
}

std::vector<LoadedScenario> load_all(const RunOptions& options) {
  const bool simulated = std::all_of(options.worlds.begin(), options.worlds.end(), &is_simulated);
  if (options.calibration && !simulated) {
    throw CLI::ValidationError(
        "--calibration", "expected simulated worlds alone: real ones have stores of their own");
  }
  std::vector<LoadedScenario> scenarios;
  for (const std::string& file : scenario_files(options.paths)) {
    std::string text = scenario::read_file(file);
    scenarios.push_back({file, scenario::load_scenario(text, file), {}});
    if (options.calibration) apply(*options.calibration, scenarios.back().scenario.cluster);
    if (!options.junit_path.empty() || !options.exports.sarif.empty())
      scenarios.back().text = std::move(text);
    tell_needs(file, scenarios.back().scenario);
  }
  for (const auto& [option, path] : {std::pair{"--html", &options.html_path},
                                     {"--perfetto", &options.exports.perfetto},
                                     {"--shiviz", &options.exports.shiviz}}) {
    if (path->empty() || scenarios.size() * options.worlds.size() == 1) continue;
    throw CLI::ValidationError(option, "expected one scenario in one world, got " +
                                           std::to_string(scenarios.size()) + " in " +
                                           std::to_string(options.worlds.size()));
  }
  return scenarios;
}

/// "torch-2.x, hardened": what the agents speak, each once.
std::string variants_of(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const scenario::NodePlan& node : scenario.cluster.nodes) {
    const std::string name(model::to_string(scenario.variant_of(node)));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return report::joined(names);
}

/// A violation stands at what the scenario says must hold, where it says so.
void note_lines(const LoadedScenario& loaded, report::Result& result) {
  for (const scenario::Unmet& unmet : result.run.unmet) {
    const auto line = unmet.violation ? scenario::line_of(loaded.text, "expect.holds")
                                      : scenario::nearest_line_of(loaded.text, unmet.expectation);
    if (line) result.lines[unmet.expectation] = *line;
  }
}

/// The table's column of names.
std::size_t name_width_of(const std::vector<LoadedScenario>& scenarios) {
  std::size_t width = 20;
  for (const LoadedScenario& each : scenarios) width = std::max(width, each.scenario.name.size());
  return std::min<std::size_t>(width, 48);
}

void tell(const std::vector<report::Result>& results, const RunOptions& options,
          const report::Style& style) {
  if (options.json) {
    std::cout << report::to_json(results);
    return;
  }
  for (const report::Result& result : results) {
    const std::string text =
        report::explanation(result, style, options.explain, results.size() == 1);
    if (!text.empty()) std::cout << '\n' << text;
  }
  if (options.worlds.size() > 1) std::cout << '\n' << report::worlds_table(results, style);
  std::cout << '\n' << report::closing_line(results);
}

/// Plays all scenarios in all worlds, and tells each result in a row.
class Session {
 public:
  explicit Session(const RunOptions& options)
      : options_(options),
        scenarios_(load_all(options)),
        trace_("--trace", options.trace_path),
        html_("--html", options.html_path),
        perfetto_("--perfetto", options.exports.perfetto),
        shiviz_("--shiviz", options.exports.shiviz),
        sarif_("--sarif", options.exports.sarif),
        junit_("--junit", options.junit_path) {
    for (const std::string& world : options_.worlds) {  // before anything takes its time
      if (!is_simulated(world)) static_cast<void>(cast_of(world));
      if (world == "pytorch") zygote_ = guests_of_this_machine("--world pytorch");
    }
  }

  std::vector<report::Result> run() {
    const std::size_t name_width = name_width_of(scenarios_);
    const bool table = !options_.json;
    std::vector<report::Result> results;
    if (table && !options_.timeline.wanted) {
      std::cout << report::table_head(style_, name_width) << std::flush;
    }
    for (const LoadedScenario& each : scenarios_) {
      for (const std::string& world : options_.worlds) {
        results.push_back(play(each.file, each.scenario, world));
        results.back().variant = variants_of(each.scenario);
        if (options_.seed) results.back().replay = " --seed " + std::to_string(*options_.seed);
        if (junit_.is_open() || sarif_.is_open()) note_lines(each, results.back());
        if (table && options_.timeline.wanted) std::cout << report::table_head(style_, name_width);
        if (table) std::cout << report::row(results.back(), style_, name_width) << std::flush;
      }
    }
    tell(results, options_, style_);
    return results;
  }

  /// All that was asked for is on disk, or a std::runtime_error says what is not.
  void finish_files(const std::vector<report::Result>& results) {
    for (OutputFile* const file : {&html_, &trace_, &perfetto_, &shiviz_}) file->finish();
    if (junit_.is_open()) junit_ << report::to_junit(results);
    junit_.finish();
    if (sarif_.is_open()) sarif_ << report::to_sarif(results, invariants_, kVersion);
    sarif_.finish();
  }

 private:
  report::Result play(const std::string& file, const scenario::Scenario& scenario,
                      const std::string& world) {
    const auto opened = [](OutputFile& out) { return out.is_open() ? &out : nullptr; };
    Listeners listeners(options_, opened(trace_), opened(shiviz_), machines_of(scenario, world),
                        style_);
    report::Result result =
        is_simulated(world) ? run_simulated(file, scenario, options_, invariants_, listeners,
                                            world == "pytorch" ? zygote_.get() : nullptr)
                            : run_really(file, world, scenario, options_, invariants_, listeners);
    listeners.finish(result.run.judged_at);
    if (html_.is_open()) {
      const auto causes = report::causes_of(result.run, listeners.causes());
      html_ << report::run_page(
          {&result, &scenario, &listeners.record(), &invariants_, causes, {}});
    }
    if (perfetto_.is_open()) {
      perfetto_ << report::perfetto_trace(listeners.record(), result.run.violations);
    }
    return result;
  }

  const RunOptions& options_;
  const report::Style style_ = style_of_terminal();
  const std::vector<LoadedScenario> scenarios_;
  const properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
  std::unique_ptr<guest::Zygote> zygote_;
  OutputFile trace_, html_, perfetto_, shiviz_, sarif_, junit_;
};

int run(const RunOptions& options) {
  Session session(options);
  const std::vector<report::Result> results = session.run();
  session.finish_files(results);
  return exit_code_of(results);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run", "Replay scenarios, simulated or with real processes, and judge them");
  command
      ->add_option("paths", options->paths,
                   "Scenario files, directories with scenario files, or - for the standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--seed", options->seed, "Seed of all draws, instead of the scenario's own");
  command
      ->add_option(
          "--world,--worlds", options->worlds,
          "sim; pytorch: simulated, but PyTorch's own agents, of the Python in HOOKE_TORCH_PYTHON; "
          "real: hooke agents on this machine; torchrun: PyTorch's, by the command in "
          "HOOKE_TORCHRUN. Several, with commas: all of them, compared")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"sim", "pytorch", "real", "torchrun"}))
      ->capture_default_str();
  command
      ->add_option(
          "--strategy", options->strategy,
          "Scheduling of tasks that are ready at the same instant (overrides the scenario)")
      ->check(CLI::IsMember(kernel::strategy_names()));
  command->add_option("--trace", options->trace_path, "Write every event of the run as JSON Lines")
      ->type_name("FILE");
  command->add_option("--junit", options->junit_path, "Write the results as JUnit XML")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html_path, "Write one run as a page to look at in a browser")
      ->type_name("FILE");
  add_exports(*command, options->exports);
  command->add_flag("--json", options->json, "Print the results as JSON");
  add_timeline(*command, options->timeline, "Tell the run line by line, a column per node");
  command->add_flag("--explain", options->explain,
                    "Also show the violations that a scenario expects");
  add_real_time_limit(
      *command, [options](std::chrono::milliseconds limit) { options->real_time_limit = limit; },
      " (real processes: 5m unless this is given)");
  add_calibration(*command, options->calibration);
  command->add_flag("--once", options->once, "Run once instead of twice: no check of determinism");
  command->footer(
      "In the simulated world every scenario is run twice and must give the same trace hash both "
      "times.\n"
      "Examples:\n"
      "  hooke run scenarios/library\n"
      "  hooke run scenarios/library/smoke/late-joiner.json --timeline --seed 7\n"
      "  hooke run incident.json --explain --trace incident.jsonl\n"
      "  hooke run incident.json --html incident.html\n"
      "  HOOKE_TORCHRUN=torchrun hooke run --worlds sim,real,torchrun scenarios/library/worlds\n"
      "Exit codes: 0 all as expected; 1 an expectation or an invariant fell; 2 bad input; 3 the "
      "harness failed, or nothing fell and a run was inconclusive.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace hooke::cli
