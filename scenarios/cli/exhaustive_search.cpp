#include "scenarios/cli/exhaustive_search.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>

#include "reports/exploration_summary.h"
#include "reports/exploration_table.h"
#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/interruption.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/progress.h"
#include "scenarios/cli/reproducers.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/cli/workforce.h"
#include "scenarios/format/writer.h"

namespace hooke::cli {
namespace {

using hunt::Branch;

class Search {
 public:
  Search(const scenario::Scenario& root, const hunt::Bounds& bounds, const HuntOptions& options)
      : root_(root), bounds_(bounds), options_(options), progress_(!options.json) {}

  void run() {
    std::vector<Branch> level{Branch()};
    while (!level.empty() && !interrupted()) level = play(level);
    progress_.clear();
    seen.wall = progress_.elapsed();
    seen.shards = {{0, seen.worlds, 0, 1}};
  }

  hunt::Exploration seen;
  std::set<std::uint64_t> classes;
  std::uint64_t left = 0;
  std::map<hunt::FailureKind, Branch> first;  ///< that failed so

 private:
  /// Plays the branches of a level and returns the next one: what the first of each new class can
  /// become. Results are taken in the order of the branches, so that it does not matter which
  /// process plays which.
  std::vector<Branch> play(const std::vector<Branch>& level) {
    std::vector<std::string> lines(level.size());
    std::unique_ptr<kernel::Kernel> kernel;
    std::uint64_t over = 0;
    Workforce workforce;
    workforce.jobs = options_.jobs;
    workforce.work = [&](std::uint64_t task) {
      if (!kernel) kernel = std::make_unique<kernel::Kernel>();
      return hunt::write_leaf(hunt::play(*kernel, root_, level[task], bounds_, invariants_));
    };
    hunt::Exploration shown = seen;  // in the order of their ends, for the eye
    workforce.done = [&](std::uint64_t task, const std::string& line) {
      ++over;
      lines[task] = line;
      shown.add(hunt::load_leaf(line, "a process of this command").result, {});
    };
    workforce.crashed = [&](std::uint64_t task, const std::string& how) {
      ++over;
      hunt::Leaf leaf;
      leaf.result.kinds = {{"harness", "the process that played the run was " + how}};
      lines[task] = hunt::write_leaf(leaf);
    };
    workforce.more = [&] {
      progress_.show(shown, over, level.size(), options_.seconds);
      return !interrupted() &&
             (options_.seconds == 0 ||
              std::chrono::duration<double>(progress_.elapsed()).count() < options_.seconds);
    };
    const std::uint64_t given = workforce.run(level.size());
    left += level.size() - given;

    std::vector<Branch> next;
    for (std::uint64_t i = 0; i < given; ++i) {
      hunt::Leaf leaf = hunt::load_leaf(lines[i], "a process of this command");
      leaf.result.seed = seen.worlds;
      for (const hunt::FailureKind& kind : leaf.result.kinds) first.try_emplace(kind, level[i]);
      seen.add(leaf.result, {});
      if (!classes.insert(leaf.order).second) continue;
      for (hunt::Deviation& deviation : leaf.next) {
        next.push_back(level[i]);
        next.back().push_back(std::move(deviation));
      }
    }
    if (given < level.size()) {
      left += next.size();
      next.clear();
    }
    return next;
  }

  const scenario::Scenario& root_;
  const hunt::Bounds& bounds_;
  const HuntOptions& options_;
  const properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
  Progress progress_;
};

}  // namespace

int search_exhaustively(const scenario::Scenario& root, const hunt::Bounds& bounds,
                        const HuntOptions& options) {
  OutputFile results("--results", options.results);
  watch_for_interruption();
  Search search(root, bounds, options);
  search.seen.space = "exhaustive search of " + scenario::write_scenario(root);
  search.run();
  if (!options.reproducers.empty()) {
    write_reproducers(
        search.seen,
        [&](kernel::Kernel&, const hunt::FailureKind& kind, const hunt::Finding&) {
          return hunt::world_of(root, search.first.at(kind));
        },
        options.reproducers, options.jobs, options.json);
  }
  if (results.is_open()) results << hunt::write_exploration(search.seen);
  results.finish();
  if (options.json) {
    std::cout << hunt::write_exploration(search.seen);
  } else {
    std::cout << (options.all ? report::exploration_table(search.seen, style_of_terminal())
                              : report::exploration_summary(search.seen, style_of_terminal(), ""));
    std::cout << fmt::format("{} classes of orders in {} runs, with up to {} deviations; {} left\n",
                             report::grouped(search.classes.size()),
                             report::grouped(search.seen.worlds), bounds.deviations,
                             report::grouped(search.left));
  }
  return exit_code_of(search.seen);
}

}  // namespace hooke::cli
