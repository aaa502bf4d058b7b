// hooke explore: gives worlds out to processes, collects what they show, and tells.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "reports/exploration_table.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/cli/workforce.h"
#include "scenarios/hunt/exploration.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/json_reader.h"
#include "scenarios/loader.h"
#include "scenarios/writer.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct Options {
  std::uint64_t seeds = 1'000;
  std::uint64_t first = 0;
  double seconds = 0;
  unsigned jobs = 1;
  std::string shard;
  std::string space;
  std::string variant;
  std::string museum;
  std::string results;
  bool json = false;
  std::optional<std::uint64_t> print;
};

volatile std::sig_atomic_t interrupted = 0;

/// Index and number of shards from the variables of Slurm's arrays, of GitLab's and CircleCI's
/// parallel jobs, or Kubernetes' indexed jobs, which give an index only.
std::pair<std::uint64_t, std::uint64_t> shard_of_environment() {
  const auto number = [](const char* name) -> std::optional<std::uint64_t> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    char* end = nullptr;
    const std::uint64_t out = std::strtoull(value, &end, 10);
    if (*end != '\0') throw CLI::ValidationError("--shard", std::string(name) + " is no number");
    return out;
  };
  if (const auto index = number("SLURM_ARRAY_TASK_ID"), of = number("SLURM_ARRAY_TASK_COUNT");
      index && of) {
    return {*index - number("SLURM_ARRAY_TASK_MIN").value_or(0), *of};
  }
  if (const auto index = number("CIRCLE_NODE_INDEX"), of = number("CIRCLE_NODE_TOTAL");
      index && of) {
    return {*index, *of};
  }
  // GitLab counts from 1.
  if (const auto index = number("CI_NODE_INDEX"), of = number("CI_NODE_TOTAL"); index && of) {
    return {*index - 1, *of};
  }
  throw CLI::ValidationError(
      "--shard", "expected the variables of a Slurm array, GitLab or CircleCI for \"auto\"");
}

/// "3/8"; "auto"; "/8": the index is Kubernetes'.
hunt::Shard shard_of(const Options& options) {
  hunt::Shard shard{options.first, options.seeds, 0, 1};
  if (options.shard.empty()) return shard;
  if (options.shard == "auto") {
    std::tie(shard.index, shard.of) = shard_of_environment();
  } else {
    std::string text = options.shard;
    if (const char* const index = std::getenv("JOB_COMPLETION_INDEX");
        text.starts_with('/') && index != nullptr) {
      text = index + text;
    }
    char slash = 0;
    std::istringstream in(text);
    if (!(in >> shard.index >> slash >> shard.of) || slash != '/' || !in.eof()) {
      throw CLI::ValidationError(
          "--shard", "expected INDEX/COUNT, /COUNT or auto, got \"" + options.shard + "\"");
    }
  }
  if (shard.of == 0 || shard.index >= shard.of) {
    throw CLI::ValidationError("--shard", "expected an index from 0 to COUNT - 1");
  }
  return shard;
}

hunt::Swarm swarm_of(const Options& options, std::string& space) {
  hunt::Swarm swarm;
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

/// The scenarios below `directory` whose agents could be those of a world of `swarm`.
hunt::Museum museum_below(const std::string& directory, const hunt::Swarm& swarm,
                          const properties::InvariantRegistry& invariants) {
  hunt::Museum museum;
  if (directory.empty()) return museum;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  kernel::Kernel kernel;
  for (const std::string& file : files) {
    const scenario::Scenario scenario = scenario::load_scenario_file(file);
    const auto& variants = swarm.variants;
    const bool possible =
        std::find(variants.begin(), variants.end(), scenario.protocol.variant) != variants.end() &&
        scenario.protocol.defects == swarm.defects;
    if (!possible) continue;
    const hunt::Exhibit exhibit = hunt::exhibit_of(kernel, scenario, invariants);
    if (!exhibit.kinds.empty()) museum.push_back(exhibit);
  }
  return museum;
}

/// The line that says how far it is: rewritten in place on a terminal, now and then in a log.
class Progress {
 public:
  explicit Progress(bool wanted) : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0) {}
  void show(const hunt::Exploration& so_far, std::uint64_t planned) {
    const auto now = watch_.elapsed();
    if (!wanted_ || now < next_) return;
    next_ = now + (terminal_ ? std::chrono::nanoseconds(200ms) : std::chrono::nanoseconds(30s));
    std::cerr << (terminal_ ? "\r\x1b[K" : "") << report::progress(so_far, planned, now)
              << (terminal_ ? "" : "\n") << std::flush;
  }
  void clear() const {
    if (wanted_ && terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return watch_.elapsed(); }

 private:
  bool wanted_;
  bool terminal_;
  kernel::Stopwatch watch_;
  std::chrono::nanoseconds next_ = 1s;
};

int explore(const Options& options) {
  hunt::Exploration exploration;
  const hunt::Swarm swarm = swarm_of(options, exploration.space);
  if (options.print) {
    std::cout << scenario::write_scenario(hunt::draw(swarm, *options.print));
    return kAllHeld;
  }
  hunt::Shard shard = shard_of(options);
  std::ofstream results = open_for("--results", options.results);
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const hunt::Museum museum = museum_below(options.museum, swarm, invariants);
  const auto seed_of = [&](std::uint64_t task) {
    return shard.first + shard.index + task * shard.of;
  };
  const std::uint64_t planned =
      shard.count / shard.of + (shard.index < shard.count % shard.of ? 1 : 0);

  Progress progress(!options.json);
  std::unique_ptr<kernel::Kernel> kernel;  // of the process that works
  Workforce workforce;
  workforce.jobs = options.jobs;
  workforce.work = [&](std::uint64_t task) {
    if (!kernel) kernel = std::make_unique<kernel::Kernel>();
    return hunt::write_world(hunt::play(*kernel, swarm, seed_of(task), invariants));
  };
  workforce.done = [&](std::uint64_t, const std::string& line) {
    exploration.add(hunt::load_world(line, "a process of this command"), museum);
  };
  workforce.crashed = [&](std::uint64_t task, const std::string& how) {
    hunt::WorldResult world;
    world.seed = seed_of(task);
    world.kinds = {{"harness", "the process that played the world was " + how}};
    exploration.add(world, museum);
  };
  workforce.more = [&] {
    progress.show(exploration, planned);
    const bool in_time =
        options.seconds == 0 ||
        std::chrono::duration<double>(progress.elapsed()).count() < options.seconds;
    return in_time && interrupted == 0;
  };
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const std::uint64_t given = workforce.run(planned);
  progress.clear();
  exploration.wall = progress.elapsed();
  if (given < planned) shard.count = given == 0 ? 0 : seed_of(given - 1) + 1 - shard.first;
  exploration.shards = {shard};

  if (results.is_open()) results << hunt::write_exploration(exploration);
  std::cout << (options.json ? hunt::write_exploration(exploration)
                             : report::exploration_table(exploration, style_of_terminal()));
  return exit_code_of(exploration);
}

}  // namespace

int exit_code_of(const hunt::Exploration& exploration) {
  if (exploration.twins_differ != 0) return kHarnessFailed;
  for (const auto& [kind, finding] : exploration.findings) {
    if (kind.invariant == "harness") return kHarnessFailed;
  }
  return exploration.findings.empty() ? kAllHeld : kSomethingFell;
}

void add_explore(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explore", "Play random worlds with random faults, and collect how promises break");
  command->add_option("--seeds", options->seeds, "How many worlds")->capture_default_str();
  command->add_option("--first", options->first, "Number of the first world")
      ->capture_default_str();
  command->add_option("--time", options->seconds, "Give out no more worlds after so many seconds")
      ->check(seconds_from(0));
  command->add_option("--jobs", options->jobs, "Worlds played at a time")
      ->check(CLI::Range(1, 1'024))
      ->capture_default_str();
  command->add_option("--shard", options->shard,
                      "INDEX/COUNT: only this part of the worlds; /COUNT: with the index of a "
                      "Kubernetes indexed job; auto: from a Slurm array, GitLab or CircleCI");
  command->add_option("--space", options->space,
                      "JSON file of what worlds are drawn from, instead of the default");
  command->add_option("--variant", options->variant, "All agents are of this variant")
      ->check(CLI::IsMember({"torch-2.x", "torch-1.13", "hardened"}));
  command
      ->add_option("--museum", options->museum,
                   "Directory of scenarios: count the worlds that fail like them")
      ->check(CLI::ExistingDirectory);
  command->add_option("--results", options->results,
                      "Write what was seen as JSON, for hooke report");
  command->add_option("--print", options->print,
                      "Only print the world of this number, as a scenario file");
  command->add_flag("--json", options->json, "Print what was seen as JSON");
  command->footer(
      "Every world is run twice and must give the same trace both times. A world is made again by "
      "its seed alone.\n"
      "Examples:\n"
      "  hooke explore --seeds 10000 --jobs 2\n"
      "  hooke explore --time 3600 --variant hardened --results night.json\n"
      "  hooke explore --seeds 1000000 --shard auto --results part-$SLURM_ARRAY_TASK_ID.json\n"
      "Exit codes: 0 every promise was kept; 1 some were broken; 2 bad input; 3 the harness "
      "failed, or two runs of one world were different.");
  command->callback([options, &exit_code] { exit_code = explore(*options); });
}

}  // namespace hooke::cli
