// hooke explore: worlds of a swarm.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/differential_hunt.h"
#include "scenarios/cli/exhaustive_search.h"
#include "scenarios/cli/hunt.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::cli {
namespace {

struct ExploreOptions {
  HuntOptions hunt;
  std::uint64_t seeds = 1'000;
  std::uint64_t first = 0;
  std::string space;
  std::string variant;
  std::string exhaustive;
  hunt::Bounds bounds;
  bool differential = false;
};

hunt::Swarm swarm_of(const ExploreOptions& options, std::string& space) {
  hunt::Swarm swarm = options.differential ? hunt::differential_swarm() : hunt::Swarm();
  if (!options.space.empty()) {
    const std::string text = scenario::read_file(options.space);
    swarm = hunt::load_swarm(text, options.space);
    space = nlohmann::json::parse(text).dump();
  }
  if (!options.variant.empty()) {
    swarm.variants = {*model::variant_from(options.variant)};
    space += options.variant;
  }
  return swarm;
}

int explore(const ExploreOptions& options) {
  if (!options.exhaustive.empty()) {
    for (const auto& [option, path] :
         {std::pair{"--html", &options.hunt.html}, {"--junit", &options.hunt.junit}}) {
      if (path->empty()) continue;
      throw CLI::ValidationError(option,
                                 "expected random worlds; a search by --exhaustive has none that "
                                 "a page could name by a number");
    }
    return search_exhaustively(scenario::load_scenario_file(options.exhaustive), options.bounds,
                               options.hunt);
  }
  Hunt hunt;
  const hunt::Swarm swarm = swarm_of(options, hunt.space);
  hunt.shard = shard_of(options.hunt.shard, options.first, options.seeds);
  if (options.differential && !options.hunt.print) {
    return hunt_differences(swarm, hunt.shard, options.hunt);
  }
  hunt.title = "Random worlds";
  hunt.command = "hooke explore";
  if (!options.space.empty()) {
    hunt.title += " of " + options.space;
    hunt.command += " --space " + report::shell_word(options.space);
  }
  if (!options.variant.empty()) {
    hunt.title += ", all agents " + options.variant;
    hunt.command += " --variant " + options.variant;
  }
  hunt.could_be_met = [&](const scenario::Scenario& scenario) {
    const scenario::ProtocolPlan& plan = scenario.protocol;
    return plan.defects == swarm.defects && std::find(swarm.variants.begin(), swarm.variants.end(),
                                                      plan.variant) != swarm.variants.end();
  };
  hunt.world = [&](kernel::Kernel&, std::uint64_t seed) { return hunt::draw(swarm, seed); };
  hunt.play = [&](kernel::Kernel& kernel, std::uint64_t seed,
                  const properties::InvariantRegistry& invariants) {
    return std::vector{hunt::play(kernel, hunt::draw(swarm, seed), seed, invariants)};
  };
  return hunt.run(options.hunt);
}

}  // namespace

void add_explore(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExploreOptions>();
  CLI::App* command = app.add_subcommand(
      "explore",
      "Play random worlds with random faults, and collect which invariants they violate");
  command->add_option("--seeds", options->seeds, "How many worlds")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("UINT")
      ->capture_default_str();
  command->add_option("--first", options->first, "Number of the first world")
      ->capture_default_str();
  command
      ->add_option("--space", options->space,
                   "JSON file of what worlds are drawn from, instead of the default")
      ->type_name("FILE");
  command->add_option("--variant", options->variant, "All agents are of this variant")
      ->check(CLI::IsMember(model::variant_names()));
  command
      ->add_option("--exhaustive", options->exhaustive,
                   "Scenario file: no random worlds, but every order of store operations in "
                   "this one, within the bounds that follow")
      ->type_name("FILE");
  command
      ->add_option("--deviations", options->bounds.deviations,
                   "Requests held, crashes and partitions in one run")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
  command->add_option("--crashes", options->bounds.crashes, "How many of them may be crashes")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
  command->add_option("--partitions", options->bounds.partitions, "And how many partitions")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
  CLI::Option* const differential = command->add_flag(
      "--differential", options->differential,
      "Play each world with hooke's agents and with those of the PyTorch in HOOKE_TORCH_PYTHON, "
      "from the same draws, and compare what they ask of the store and decide");
  add_hunt_options(*command, options->hunt);
  for (const char* const other : {"--exhaustive", "--variant", "--jobs", "--known-issues",
                                  "--results", "--all", "--html", "--junit"}) {
    differential->excludes(command->get_option(other));
  }
  command->footer(
      "Every world is run twice and must give the same trace both times. A world is made again by "
      "its seed alone; the same worlds give the same digest.\n"
      "Examples:\n"
      "  hooke explore --seeds 10000 --jobs 2\n"
      "  hooke explore --time 3600 --variant hardened --results night.json --reproducers night\n"
      "  hooke explore --differential --seeds 50 --reproducers differences\n"
      "  hooke explore --seeds 1000000 --shard auto --results part-$SLURM_ARRAY_TASK_ID.json\n"
      "Exit codes: 0 every invariant was kept; 1 some were broken; 2 bad input; 3 the harness "
      "failed, two runs of one world were different, or no world was played.");
  command->callback([options, &exit_code] { exit_code = explore(*options); });
}

}  // namespace hooke::cli
