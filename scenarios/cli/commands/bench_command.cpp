// hooke bench rendezvous: the latency study.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "reports/latency_study.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"

namespace hooke::cli {
namespace {

struct BenchOptions {
  report::StudyPlan plan;
  std::string json_path;
  std::string csv_path;
};

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the protocol at scale");
  bench->require_subcommand(1);
  add_bench_store(*bench, exit_code);
  add_bench_node(*bench, exit_code);
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      bench->add_subcommand("rendezvous", "Rendezvous latency against the number of nodes");
  command->add_option("--nodes", options->plan.nodes, "Numbers of nodes")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--seeds", options->plan.seeds,
                   "Seeds per number of nodes; one where no agent gets in")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--service-us", options->plan.service_us,
                   "Service times of the store, in microseconds")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option_function<std::int64_t>(
          "--join-timeout",
          [options](std::int64_t seconds) {
            options->plan.join_timeout = std::chrono::seconds(seconds);
          },
          "Seconds after which a node gives up")
      ->check(CLI::Range(1, 86'400))
      ->default_str("600");
  command->add_option("--json", options->json_path, "Write the figures as JSON")->type_name("FILE");
  command->add_option("--csv", options->csv_path, "Write the figures as CSV")->type_name("FILE");
  command->footer(
      "Example: hooke bench rendezvous --nodes 2 64 1024 --seeds 3\n"
      "Exit codes: 0; 2 bad usage; 3 the harness failed.");
  command->callback([options, &exit_code] {
    OutputFile json("--json", options->json_path);
    OutputFile csv("--csv", options->csv_path);
    const report::Study study = report::run_study(options->plan, std::cout);
    if (json.is_open()) json << report::study_json(study);
    if (csv.is_open()) csv << report::study_csv(study);
    json.finish();
    csv.finish();
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
