// hooke bench rendezvous: the latency study.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "reports/latency_study.h"
#include "scenarios/cli/commands.h"

namespace hooke::cli {
namespace {

struct Options {
  report::StudyPlan plan;
  std::string json_path;
  std::string csv_path;
};

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the protocol at scale");
  bench->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* command =
      bench->add_subcommand("rendezvous", "Rendezvous latency against the number of nodes");
  command->add_option("--nodes", options->plan.nodes, "Numbers of nodes")->capture_default_str();
  command->add_option("--seeds", options->plan.seeds, "Seeds per number of nodes")
      ->capture_default_str();
  command
      ->add_option("--service-us", options->plan.service_us,
                   "Service times of the store, in microseconds")
      ->capture_default_str();
  command->add_option("--json", options->json_path, "Write the figures as JSON");
  command->add_option("--csv", options->csv_path, "Write the figures as CSV");
  command->footer(
      "Example: hooke bench rendezvous --nodes 2 64 1024 --seeds 3\n"
      "Exit codes: 0; 2 bad usage; 3 the harness failed.");
  command->callback([options, &exit_code] {
    const report::Study study = report::run_study(options->plan, std::cout);
    if (!options->json_path.empty()) std::ofstream(options->json_path) << report::study_json(study);
    if (!options->csv_path.empty()) std::ofstream(options->csv_path) << report::study_csv(study);
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
