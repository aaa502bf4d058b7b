#pragma once
// A job over weeks, as a chain of calm and episodes: calm is arithmetic, an episode is one that the
// protocol has played.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "reports/plan/episode.h"

namespace hooke::report {

/// Where the time of a job goes.
enum class Use : unsigned char {
  useful,      ///< training that is kept; of fewer nodes, in proportion
  saving,      ///< checkpoints
  redone,      ///< training since the last checkpoint before a failure
  detection,   ///< until an agent acts
  rendezvous,  ///< until the workers of the next round are started
  restart,     ///< until they train: they meet, and load the checkpoint
  waiting,     ///< for nodes
  relaunch,    ///< the job had ended, or hung
  fewer,       ///< what nodes that were missing would have trained
};
inline constexpr std::size_t kUses = 9;

/// Spans of one course of a job, by use; their sum is its length.
struct Course {
  std::array<sim::Duration, kUses> spent{};
  std::int64_t failures = 0;
  std::int64_t ends = 0;            ///< of these, after which the job had ended or hung
  std::int64_t starts_in_vain = 0;  ///< launches after which it never trained

  [[nodiscard]] sim::Duration of(Use use) const { return spent[static_cast<std::size_t>(use)]; }
  [[nodiscard]] sim::Duration whole() const;
  /// The effective training time ratio (arXiv 2410.21680): useful time of all time.
  [[nodiscard]] double ratio() const;
};

/// What the next failure is, and after how long: a node's, or a worker's.
struct NextFailure {
  sim::Duration after{};
  bool of_node = true;
  bool of_host = false;  ///< it is the node with the store
};

/// Draws of one course.
class Draws {
 public:
  virtual ~Draws() = default;
  virtual NextFailure next() = 0;
  /// One of `count`.
  virtual std::size_t pick(std::size_t count) = 0;
};

/// The course of that job for `length`. `episodes` holds each of kinds_of(plan).
Course follow(const JobPlan& plan, const Episodes& episodes, sim::Duration length, Draws& draws);

struct Forecast {
  double mean = 0, low = 0,
         high = 0;  ///< of the ratio; between low and high lie nine of ten courses
  std::array<double, kUses> shares{};                 ///< of all time, on average
  double failures = 0, ends = 0, starts_in_vain = 0;  ///< in one course, on average
};

/// Over `courses` of that length, drawn by `seed`: failures come independently of each other, at a
/// constant rate.
Forecast forecast(const JobPlan& plan, const Episodes& episodes, sim::Duration length,
                  std::int64_t courses, std::uint64_t seed);

}  // namespace hooke::report
