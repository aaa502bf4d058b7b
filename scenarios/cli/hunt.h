#pragma once
// What explore and sweep have in common: numbered tasks, each one or more worlds, dealt out to
// processes; what they show is collected, told, and written down.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/exports/campaign_junit.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/hunt/exploration.h"
#include "sim/kernel/kernel.h"

namespace hooke::cli {

struct HuntOptions {
  unsigned jobs = 1;
  double seconds = 0;  ///< 0: no limit
  std::string shard;
  std::string known_issues;
  std::string results;
  std::string html;
  std::string junit;
  std::string reproducers;
  bool json = false;
  bool all = false;
  std::optional<std::uint64_t> print;
};

/// --jobs, --time, --shard, --known-issues, --results, --html, --junit, --reproducers, --print, --all, --json.
void add_hunt_options(CLI::App& command, HuntOptions& options);

/// The part of `count` numbers from `first` on that `text` (a --shard) means.
/// CLI::ValidationError for what is none.
hunt::Shard shard_of(const std::string& text, std::uint64_t first, std::uint64_t count);

/// In JUnit XML a way of failing stands in its reproducer, or else in `scenario` (empty: there is
/// none), at what the file says must hold, or at its beginning.
report::PlaceOf junit_places(const std::string& scenario);

struct Hunt {
  std::string space;  ///< as in hunt::Exploration
  std::string title;  ///< of its page
  /// The command line that has the same worlds: "hooke sweep job.json --pairs".
  std::string command;
  std::string scenario{};  ///< file that all worlds are made from; empty: there is none
  hunt::Shard shard;
  /// Which scenarios below --known-issues could be met here at all.
  std::function<bool(const scenario::Scenario&)> could_be_met;
  /// The world with that number, as results name it.
  std::function<scenario::Scenario(kernel::Kernel&, std::uint64_t number)> world;
  /// Plays the worlds of the task with this number.
  std::function<std::vector<hunt::WorldResult>(kernel::Kernel&, std::uint64_t number,
                                               const properties::InvariantRegistry&)>
      play;

  /// Returns the exit code.
  int run(const HuntOptions& options);

 private:
  /// Writes what was seen where the options say so.
  int tell(hunt::Exploration& exploration, const HuntOptions& options, OutputFile& results,
           OutputFile& html, OutputFile& junit);
};

}  // namespace hooke::cli
