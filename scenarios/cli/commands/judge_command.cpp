// hooke judge: traces and logs of what happened for real, judged and shown as a run of a scenario is;
// hooke view: only shown.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "reports/exports/perfetto.h"
#include "reports/machine.h"
#include "reports/page/run_page.h"
#include "reports/recorded_job.h"
#include "reports/summary.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/cli/timeline_options.h"
#include "scenarios/format/duration.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_run.h"

namespace hooke::cli {
namespace {

struct JudgeOptions {
  std::vector<std::string> paths;
  std::optional<sim::WorldTime> end;
  std::string html_path, perfetto_path;
  bool json = false;
  bool only_draw = false;  ///< print nothing
  TimelineOptions timeline;
};

int judge(const JudgeOptions& options) {
  OutputFile html("--html", options.html_path), perfetto("--perfetto", options.perfetto_path);
  const report::Style style = style_of_terminal();
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const auto events = scenario::open_recording(options.paths);
  std::optional<report::Timeline> timeline;
  report::RunRecord record(events->node_names());
  std::vector<kernel::TraceSink*> sinks;
  if (options.timeline.wanted) {
    sinks.push_back(
        &timeline.emplace(timeline_of(std::cout, events->node_names(), style, options.timeline)));
  }
  if (html.is_open() || perfetto.is_open()) sinks.push_back(&record);
  hunt::CauseRecorder causes(report::Phrases{}, events->node_names());
  if (html.is_open()) sinks.push_back(&causes);
  report::Result result{options.paths.front(), false,
                        scenario::judge_recording(*events, invariants, sinks, options.end),
                        "recorded"};
  if (timeline) timeline->finish();
  result.run.name = report::name_of_recording(options.paths);
  const report::Grounds grounds{events->assumptions(),
                                scenario::not_judged(events->evidence(), invariants)};
  if (options.only_draw) {
    // What there is to say is on the page.
  } else if (options.json) {
    std::cout << report::recorded_job_json(result, grounds).dump(2) << '\n';
  } else {
    std::cout << report::recorded_job_text(result, grounds, style);
  }
  record.finish(result.run.judged_at);
  if (perfetto.is_open()) {
    perfetto << report::perfetto_trace(record, result.run.violations);
    perfetto.finish();
  }
  if (html.is_open()) {
    html << report::run_page(
        {&result, nullptr, &record, &invariants, report::causes_of(result.run, causes), grounds});
    html.finish();
  }
  return result.good() ? kAllHeld : kSomethingFell;
}

/// Draws the page, whatever is on it.
int view(JudgeOptions options) {
  options.only_draw = true;
  if (options.html_path.empty()) {
    // In the working directory: that of the trace may be another machine's, or only readable.
    const std::filesystem::path trace(options.paths.front());
    options.html_path = trace.filename().replace_extension(".html").string();
  }
  judge(options);
  std::cout << "wrote " << options.html_path << ", a page to look at in a browser\n";
  return kAllHeld;
}

void add_traces(CLI::App& command, std::vector<std::string>& paths) {
  command
      .add_option("traces", paths,
                  "A file for each agent: what hooke agent --trace has written, or torchrun's log; "
                  "besides, the file of hooke state --record; or the one file of hooke run --trace")
      ->type_name("FILE")
      ->required();
}

void add_view(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<JudgeOptions>();
  CLI::App* command = app.add_subcommand(
      "view", "Draw traces and logs as a page for a browser, as hooke judge --html does");
  add_traces(*command, options->paths);
  command
      ->add_option("--html", options->html_path,
                   "The page; unless given, the name of the first trace with .html, here")
      ->type_name("FILE");
  command->footer(
      "What is violated is on the page, and no failure of this command.\n"
      "Examples:\n"
      "  hooke view run.jsonl\n"
      "  hooke view node-*.jsonl --html job.html\n"
      "Exit codes: 0 the page is written; 2 bad input.");
  command->callback([options, &exit_code] { exit_code = view(*options); });
}

}  // namespace

void add_judge(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<JudgeOptions>();
  CLI::App* command = app.add_subcommand(
      "judge", "Judge what happened for real, by the traces and logs of its agents");
  add_traces(*command, options->paths);
  command
      ->add_option_function<std::string>(
          "--end",
          [options](const std::string& text) {
            const auto end = scenario::parse_duration(text);
            if (!end || *end < sim::Duration::zero() || *end > scenario::kSpanMax) {
              throw CLI::ValidationError(
                  "--end", "expected a duration with a unit such as \"90s\", got " + text);
            }
            options->end = sim::WorldTime(*end);
          },
          "Judge as of this time after the first event, if that is later than the last one: what "
          "was owed by then and did not happen is violated")
      ->type_name("DURATION");
  command->add_option("--html", options->html_path, "Write a page to look at in a browser")
      ->type_name("FILE");
  command
      ->add_option("--perfetto", options->perfetto_path,
                   "Write what happened for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the result as JSON");
  add_timeline(*command, options->timeline, "Tell what happened line by line, a column per node");
  command->footer(
      "The invariants are those of hooke run. Clocks of several machines are set beside each other "
      "by what their agents did through one store. What no trace says (a fault of the network, an "
      "agent without a trace) is not known here: the result says what was taken for granted.\n"
      "Examples:\n"
      "  hooke agent --trace node-3.jsonl … train.py   (on each machine)\n"
      "  hooke judge node-*.jsonl --html job.html\n"
      "  hooke judge torchrun-*.log job.record\n"
      "  hooke judge run.jsonl --end 10m\n"
      "Exit codes: 0 no violation found; 1 an invariant is violated; 2 bad input.");
  command->callback([options, &exit_code] { exit_code = judge(*options); });
  add_view(app, exit_code);
}

}  // namespace hooke::cli
