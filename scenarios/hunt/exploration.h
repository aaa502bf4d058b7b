#pragma once
// What a hunt has seen: a value that can be added to, written as JSON, read back, and merged with
// what other machines have seen in other parts of the same space.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/hunt/accounts.h"
#include "scenarios/hunt/digest.h"
#include "scenarios/hunt/failure.h"
#include "scenarios/hunt/known_issues.h"
#include "scenarios/simulated/runner.h"

namespace hooke::hunt {

/// What one world has shown.
struct WorldResult {
  std::uint64_t seed = 0;
  std::vector<FailureKind> kinds;
  std::vector<std::string> coverage;
  struct Fault {
    std::string word;
    bool felt = false;
  };
  std::vector<Fault> faults;  ///< that happened
  Accounts accounts;          ///< what was judged
  std::uint64_t events = 0;
  std::chrono::nanoseconds wall{};  ///< of its first run
  bool determinism_check = false;   ///< it was run twice
  bool determinism_failures = false;
  bool cut = false;  ///< stopped by a limit of the harness, and judged as it stood
  std::string hash;  ///< of its trace; empty when the process that played it was lost
};

/// One kind of failure.
struct Finding {
  std::uint64_t worlds = 0;  ///< that showed it
  std::uint64_t first_seed = 0;
  std::string reproducer;  ///< file name of its shrunk scenario, beside the results; empty: none
};

/// A known issue that was looked for.
struct KnownIssueCount {
  std::vector<FailureKind> kinds;  ///< what a world must show to have met it
  Finding met;
  std::vector<std::string> references{};  ///< where it was reported
};

/// A part of the seeds: every `of`-th of [first, first + count), from first + index on.
struct Shard {
  static constexpr std::uint64_t kOfMax = 1'000'000;  ///< no fleet has more machines

  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t index = 0;
  std::uint64_t of = 1;
  friend auto operator<=>(const Shard&, const Shard&) = default;
};
/// The smallest seed that both have.
std::optional<std::uint64_t> shared_seed(const Shard& one, const Shard& other);

struct Exploration {
  std::string space;  ///< text of the space; empty: the default one
  std::vector<Shard> shards;
  std::uint64_t worlds = 0;
  std::uint64_t broken = 0;              ///< worlds with a finding that is no limit
  std::uint64_t determinism_checks = 0;  ///< worlds that were run twice
  std::uint64_t determinism_failures = 0;
  std::uint64_t cut = 0;  ///< worlds that a limit of the harness stopped
  /// Tasks (a world, or a fault with all its second ones) that an interruption or a limit of time
  /// left out of the shards that were asked for.
  std::uint64_t not_begun = 0;
  std::uint64_t events = 0;
  Digest digest;  ///< of the worlds and of what happened in each
  std::chrono::nanoseconds wall{};
  std::map<FailureKind, Finding> findings;
  std::map<std::string, KnownIssueCount> known_issues;  ///< by name
  std::map<std::string, std::uint64_t> coverage;        ///< worlds that reached each
  struct FaultCount {
    std::uint64_t happened = 0;
    std::uint64_t felt = 0;
  };
  std::map<std::string, FaultCount> faults;  ///< by word
  Accounts accounts;                         ///< what was judged in all worlds

  void add(const WorldResult& world, const KnownIssues& looked_for);
  /// scenario::ScenarioError when the other one is of another space, of seeds that are here
  /// already, or has looked for something else under the name of a known issue.
  void merge(const Exploration& other, const std::string& source);
  /// Ways in which invariants were violated that somebody could have kept.
  [[nodiscard]] std::uint64_t ways() const;
  /// Those of kinds that `other` has not.
  [[nodiscard]] std::map<FailureKind, Finding> findings_beyond(const Exploration& other) const;
  /// Marks of the model that no world has reached, in their order.
  [[nodiscard]] std::vector<std::string> coverage_never_reached() const;
};

std::string write_exploration(const Exploration& exploration);
/// scenario::ScenarioError names the place of what is wrong.
Exploration load_exploration(std::string_view text, const std::string& source);

/// A result as the line of JSON in which a helping process tells of it, without newline.
std::string write_world(const WorldResult& world);
WorldResult load_world(std::string_view line, const std::string& source);

}  // namespace hooke::hunt
