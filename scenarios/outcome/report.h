#pragma once
// What one run has shown, in whichever world it ran.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "sim/kernel/kernel.h"

namespace hooke::scenario {

/// One sentence per expectation that did not come true, and per violation that was not expected.
struct Unmet {
  /// "expect.outcome.a", a JSON pointer without slash form; the id of the invariant of a violation.
  std::string expectation;
  std::string reason;
  /// Nothing that could still have happened would have changed it.
  bool decided = false;
  std::optional<std::size_t> violation{};  ///< the one in RunReport::violations that it is
};

struct TraceDifference {
  std::uint64_t event_number = 0;
  std::string first;   ///< the event as the first run had it
  std::string second;  ///< and the second
};

struct InjectedFault {
  std::string what;
  sim::WorldTime at{};
  std::uint64_t felt = 0;  ///< 0: it had no effect
  std::size_t entry = 0;   ///< of the timeline, from 0
};

/// An entry of the timeline that has not happened, or less often than it was to.
struct NeverHappened {
  std::size_t entry = 0;  ///< from 0
  std::string what;
  std::string why;
};

/// How one agent incarnation ended.
struct AgentResult {
  std::string node;
  std::string
      outcome;  ///< succeeded, failed, signalled, graceful_exit, error, killed, crashed, running
  std::optional<int> exit_code;
  std::string detail;
  sim::WorldTime ended{};
  std::string run_id{};  ///< of its job; empty: it ended before it said so
};

/// How one job ended: what its agents say together.
struct JobResult {
  std::string run_id;
  /// running (an agent is), failed, succeeded (an agent has and none failed), or what all of its
  /// agents ended as; else "ended". An earlier agent of a node does not count beside a later one.
  std::string outcome;
  std::map<std::string, std::size_t> agents;  ///< every agent that was started, by outcome
};

/// What the events of an expected sum have shown.
struct SumSeen {
  std::int64_t total = 0;
  std::int64_t events = 0;
  bool is_text = false;            ///< the field of one of them is no number
  std::int64_t largest_value = 0;  ///< of all, without its sign
  std::string largest{};           ///< where that was: "at 12.300 s on b"
  std::string nearest{};           ///< while none counted, the one that was most like one that does
};

struct RunReport {
  std::string name;
  std::uint64_t seed = 0;
  bool passed = false;  ///< every expectation met and, with determinism check, both hashes equal
  /// Not empty: which limit of the harness cut the run before anything was decided. Neither passed
  /// nor failed.
  std::string inconclusive;
  kernel::RunEnd end{};
  bool check_cut = false;         ///< the machine cut the second run: it was compared up to there
  bool rounds_exhausted = false;  ///< stopped for RunOptions::rounds_max
  std::string unsupported;        ///< not empty: what of it this world cannot do; nothing was run
  std::string logs;               ///< directory in which real processes have left theirs
  std::string harness_failure;    ///< not empty: exit code 3
  std::vector<Unmet> unmet;
  std::vector<properties::Violation> violations;        ///< all, expected ones too
  std::map<std::string, properties::Account> accounts;  ///< what was judged, by invariant
  std::vector<AgentResult> agents;                      ///< in order of start
  std::vector<JobResult> jobs;                          ///< in order of their first agent
  std::vector<InjectedFault> faults;
  std::vector<NeverHappened> never_happened;
  std::map<std::string, std::uint64_t> coverage;
  /// How often each of the expected events was on the trace, then each of `never`.
  std::vector<std::int64_t> met;
  /// Of each expected event that was not met, the one that was most like it; empty: there was none.
  std::vector<std::string> nearest;
  std::vector<SumSeen> sums;  ///< by the expected ones
  std::optional<TraceDifference> trace_difference;
  std::int64_t rounds = 0;  ///< completed rounds
  sim::Duration world_time{};
  /// As of when its invariants were judged: the end of the run, or the time limit when nothing
  /// could happen any more and agents were left.
  sim::WorldTime judged_at{};
  std::chrono::nanoseconds wall_time{};  ///< of the first run
  std::uint64_t events = 0;
  std::uint64_t steps = 0;
  std::string hash;
  kernel::Tape tape;  ///< with RunOptions::record_tape
};

}  // namespace hooke::scenario
