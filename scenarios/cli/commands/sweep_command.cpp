// hooke sweep: a fault at every event of a scenario, one after the other.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/hunt.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/hunt/sweep.h"

namespace hooke::cli {
namespace {

using scenario::Scenario;

struct SweepOptions {
  HuntOptions hunt;
  std::string file;
  std::vector<std::string> words{"*"};
  bool pairs = false;
};

/// World `number` is single fault number / kPairsMax, alone (0) or with the so-manieth second one.
constexpr std::uint64_t kPairsMax = 100'000;

/// The worlds with a second fault, of a world with a first one.
std::vector<Scenario> pairs_of(kernel::Kernel& kernel, const Scenario& single,
                               const std::vector<std::string>& words,
                               const properties::InvariantRegistry& invariants) {
  auto out = hunt::with_one_fault_more(
      single, hunt::boundaries_touched_by_last_fault(kernel, single, invariants), words);
  if (out.size() >= kPairsMax) out.resize(kPairsMax - 1);
  return out;
}

/// A pattern that matches nothing would make the sweep smaller without a word.
void check_words(const SweepOptions& options, const Scenario& reference) {
  const std::vector<std::string> known = hunt::words_of_sweeps(reference);
  for (const std::string& pattern : options.words) {
    const bool matches = std::any_of(known.begin(), known.end(), [&](const std::string& word) {
      return properties::matches(pattern, word);
    });
    if (matches) continue;
    const auto near = scenario::nearest(pattern, known);
    throw CLI::ValidationError("--words", "no fault of a sweep of this scenario matches \"" +
                                              pattern + "\"" +
                                              (near ? "; did you mean \"" + *near + "\"?" : ""));
  }
}

int sweep(const SweepOptions& options) {
  Scenario reference = scenario::load_scenario_file(options.file);
  check_words(options, reference);
  const auto invariants = properties::InvariantRegistry::with_builtins();
  std::vector<Scenario> singles;
  {
    kernel::Kernel kernel;
    singles = hunt::with_one_fault_more(reference, hunt::boundaries(kernel, reference, invariants),
                                        options.words);
  }
  if (singles.empty()) {
    throw scenario::ScenarioError(options.file +
                                  ": /cluster/nodes: expected an agent that does something, got "
                                  "no event at which a fault could happen");
  }
  Hunt hunt;
  hunt.space = "sweep of " + scenario::write_scenario(reference);
  hunt.scenario = options.file;
  hunt.title = "Sweep of " + options.file;
  hunt.command = "hooke sweep " + report::shell_word(options.file);
  if (options.words != SweepOptions{}.words) {
    hunt.command += " --words " + report::shell_word(report::joined(options.words, ","));
  }
  if (options.pairs) hunt.command += " --pairs";
  hunt.shard = shard_of(options.hunt.shard, 0, singles.size());
  hunt.could_be_met = [&](const Scenario& scenario) {
    return scenario.protocol.variant == reference.protocol.variant &&
           scenario.protocol.defects == reference.protocol.defects;
  };
  hunt.world = [&](kernel::Kernel& kernel, std::uint64_t number) {
    const std::uint64_t second = number % kPairsMax;
    if (number / kPairsMax >= singles.size()) {
      throw CLI::ValidationError(
          "--print", "expected a number below " + std::to_string(singles.size() * kPairsMax));
    }
    const Scenario& single = singles[number / kPairsMax];
    if (second == 0) return single;
    const auto pairs = pairs_of(kernel, single, options.words, invariants);
    if (second > pairs.size()) {
      throw CLI::ValidationError("--print", "expected a number that the results name");
    }
    return pairs[second - 1];
  };
  hunt.play = [&](kernel::Kernel& kernel, std::uint64_t number,
                  const properties::InvariantRegistry& registry) {
    const Scenario& single = singles.at(number);
    std::vector worlds{hunt::play(kernel, single, number * kPairsMax, registry)};
    if (!options.pairs) return worlds;
    std::uint64_t second = 0;
    for (const Scenario& pair : pairs_of(kernel, single, options.words, registry)) {
      worlds.push_back(hunt::play(kernel, pair, number * kPairsMax + ++second, registry));
    }
    return worlds;
  };
  return hunt.run(options.hunt);
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command = app.add_subcommand(
      "sweep", "Play a scenario with one more fault, for every fault at every event");
  command->add_option("scenario", options->file, "Scenario file")->type_name("FILE")->required();
  command->add_option("--words", options->words, "Patterns of the faults, such as \"net.*\"")
      ->type_name("FAULT")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_flag("--pairs", options->pairs,
                    "Also a second fault, at every event that the first has touched");
  add_hunt_options(*command, options->hunt);
  command->footer(
      "Examples:\n"
      "  hooke sweep scenarios/library/smoke/happy-path-4-nodes.json --jobs 2\n"
      "  hooke sweep job.json --words agent.kill,node.crash --pairs --time 600\n"
      "  hooke sweep job.json --print 1700000 >world.json\n"
      "Exit codes: 0 every invariant was kept; 1 some were broken; 2 bad input; 3 the harness "
      "failed, two runs of one world were different, or no world was played.");
  command->callback([options, &exit_code] { exit_code = sweep(*options); });
}

}  // namespace hooke::cli
