#pragma once
// What a person sees after `hooke run`: one line per scenario and, for each that failed, why.

#include <map>
#include <string>
#include <vector>

#include "reports/style.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {

/// One finished run together with what the scenario file says about itself.
struct Result {
  std::string file;        ///< path as given
  bool must_fail = false;  ///< a canary: success is that it fails
  scenario::RunReport run;
  std::string world = "sim";  ///< where it was run
  std::string variant{};      ///< of its agents: "torch-2.x, hardened"; empty: not known
  /// Where the scenario file says what was not met, by the words of Unmet::expectation; without what
  /// no line says, and empty where no caller asks for it.
  std::map<std::string, std::size_t> lines{};
  /// Options that play this run again, of `hooke run` and `hooke explain`: " --seed 7"; empty: the
  /// scenario alone does.
  std::string replay{};
  /// The verdict that counts: passed, or failed when it had to.
  [[nodiscard]] bool good() const { return conclusive() && run.passed != must_fail; }
  [[nodiscard]] bool supported() const { return run.unsupported.empty(); }
  /// False: a limit of the harness cut it before anything was decided.
  [[nodiscard]] bool conclusive() const { return run.inconclusive.empty(); }
};

/// Whether the scenario did not allow that violation of its run.
bool is_unexpected(const scenario::RunReport& run, std::size_t violation);

/// How a job ended: "job \"train\": failed (2 agents failed, 1 crashed)".
std::string ending(const scenario::JobResult& job);

/// What a verdict does not say: entries of the timeline that had no effect whenever they happened,
/// and those that never happened. One sentence each, "timeline.2 net.reset" before it.
struct TimelineNote {
  std::string entry;
  std::string text;
};
std::vector<TimelineNote> timeline_notes(const scenario::RunReport& run);

/// The head of the table, aligned with row().
std::string table_head(const Style& style, std::size_t name_width);
/// One scenario: verdict, rounds, virtual time, wall time, events, hash.
std::string row(const Result& result, const Style& style, std::size_t name_width);
/// How the jobs of a scenario ended, and why it failed: unmet expectations (the first few), each
/// invariant that was violated with its first witness and how often more, the most severe first,
/// the harness' own failure. Also what its timeline did not do, and, of a simulated run that failed,
/// the next command. Also the violations that a passing scenario expected, and all unmet
/// expectations, when `expected_too`. Empty when there is nothing to tell but the jobs' ends, unless
/// this result stands `alone`.
std::string explanation(const Result& result, const Style& style, bool expected_too,
                        bool alone = false);
/// Results of the same scenarios in several worlds: a line per scenario, a column per world, and
/// whether the verdict is the same in all of them.
std::string worlds_table(const std::vector<Result>& results, const Style& style);
/// How many scenarios have, in the worlds that could play them to a verdict, more than one.
std::size_t differing(const std::vector<Result>& results);
/// "N passed, M failed", how many were inconclusive, and how many could not be played.
std::string closing_line(const std::vector<Result>& results);

}  // namespace hooke::report
