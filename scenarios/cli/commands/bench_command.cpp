// hooke bench rendezvous: the latency study.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "model/variant/variant.h"
#include "reports/latency_study.h"
#include "reports/text.h"
#include "scenarios/cli/calibration_file.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/cli/status_line.h"

namespace hooke::cli {
namespace {

struct BenchOptions {
  report::StudyPlan plan;
  std::vector<std::int64_t> service_us{11};
  std::vector<std::string> variants{std::string(to_string(model::Variant::torch_2_x))};
  double keep_alive_seconds = 5, spread_seconds = 0;
  std::string json_path;
  std::string csv_path;
};

/// "512 nodes, seed 1: 40 of 512 have their verdict at 12.1s of at most 11m40.0s, at most 2m left".
std::string progress_text(const report::StudyProgress& so_far, std::chrono::nanoseconds since) {
  std::string out = std::to_string(so_far.nodes) + " nodes, seed " + std::to_string(so_far.seed) +
                    ": " + std::to_string(so_far.verdicts) + " have their verdict at " +
                    report::short_time(so_far.now) + " of at most " +
                    report::short_time(so_far.end);
  if (so_far.now > sim::Duration::zero()) {
    const double rate =
        static_cast<double>(since.count()) / static_cast<double>(so_far.now.count());
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::duration<double>(
            std::chrono::duration<double>(so_far.end - so_far.now).count() * rate));
    out += ", at most " + report::short_time(left) + " left";
  }
  return out;
}

report::Study study(BenchOptions& options) {
  report::StudyPlan& plan = options.plan;
  plan.variants.clear();
  for (const std::string& each : options.variants) {
    plan.variants.push_back(*model::variant_from(each));
  }
  plan.service.clear();
  for (const std::int64_t each : options.service_us) {
    plan.service.push_back(std::chrono::microseconds(each));
  }
  plan.keep_alive = span_of(options.keep_alive_seconds);
  plan.start_spread = span_of(options.spread_seconds);
  StatusLine line;
  std::pair<std::int64_t, std::int64_t> run;
  std::chrono::nanoseconds began{};
  return report::run_study(plan, std::cout, [&](const report::StudyProgress& so_far) {
    const std::pair now_run(so_far.nodes, so_far.seed);
    if (std::exchange(run, now_run) != now_run) began = line.elapsed();
    line.show([&] { return progress_text(so_far, line.elapsed() - began); });
  });
}

/// What meets, and of which nodes.
void add_subjects(CLI::App& command, BenchOptions& options) {
  command.add_option("--nodes", options.plan.nodes, "Numbers of nodes")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--backend", options.plan.backends, "What they meet over, as --rdzv-backend")
      ->check(CLI::IsMember({"c10d", "static", "etcd-v2", "etcd-v3", "etcd"}))
      ->capture_default_str();
  command.add_option("--variant", options.variants, "What they are")
      ->check(CLI::IsMember(model::variant_names()))
      ->capture_default_str();
  command
      .add_option("--lose", options.plan.lost,
                  "So many machines are lost within a second of the last start, at random times; "
                  "the others are enough for a round")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command.add_flag("--to-the-end", options.plan.to_the_end,
                   "Their workers end after a second; says how long the exit barrier takes, too");
  command
      .add_option("--seeds", options.plan.seeds,
                  "Seeds per number of nodes; one where no agent gets in")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_settings(CLI::App& command, BenchOptions& options) {
  CLI::Option* const service = command
                                   .add_option("--service-us", options.service_us,
                                               "Service times of the store, in microseconds")
                                   ->check(CLI::Range(0, 1'000'000))
                                   ->capture_default_str();
  add_calibration(command, options.plan.calibration)->excludes(service);
  command
      .add_option_function<std::int64_t>(
          "--join-timeout",
          [&options](std::int64_t seconds) {
            options.plan.join_timeout = std::chrono::seconds(seconds);
          },
          "Seconds after which a node gives up")
      ->check(CLI::Range(1, 86'400))
      ->default_str("600");
  command
      .add_option("--keep-alive", options.keep_alive_seconds,
                  "Seconds between two heartbeats: keep_alive_interval of --rdzv-conf")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command
      .add_option("--start-spread", options.spread_seconds,
                  "Seconds within which the nodes start, at random times; the store runs already")
      ->check(seconds_from(0))
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the protocol at scale");
  bench->require_subcommand(1);
  add_bench_store(*bench, exit_code);
  add_bench_node(*bench, exit_code);
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      bench->add_subcommand("rendezvous", "Rendezvous latency against the number of nodes");
  add_subjects(*command, *options);
  add_settings(*command, *options);
  command
      ->add_option_function<std::string>(
          "--real-time-limit",
          [options](const std::string& text) {
            options->plan.real_time_max = real_time_from(text);
          },
          "Cut each run after so much real time; its row says so")
      ->type_name("DURATION")
      ->default_str("1h");
  command->add_option("--json", options->json_path, "Write the figures as JSON")->type_name("FILE");
  command->add_option("--csv", options->csv_path, "Write the figures as CSV")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  hooke bench rendezvous --nodes 2 64 1024 --seeds 3\n"
      "  hooke bench rendezvous --nodes 1024 --seeds 1 --keep-alive 60 --start-spread 10\n"
      "  hooke bench rendezvous --nodes 256 --backend c10d static --variant torch-2.x hardened\n"
      "Exit codes: 0; 2 bad usage; 3 the harness failed.");
  command->callback([options, &exit_code] {
    OutputFile json("--json", options->json_path);
    OutputFile csv("--csv", options->csv_path);
    const report::Study result = study(*options);
    if (json.is_open()) json << report::study_json(result);
    if (csv.is_open()) csv << report::study_csv(result);
    json.finish();
    csv.finish();
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
