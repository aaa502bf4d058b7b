#pragma once
// How long a rendezvous takes against the number of nodes, and what it costs: all nodes start at
// once or within a span, some may be lost meanwhile, and each join is followed to its verdict.

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "model/variant/variant.h"
#include "scenarios/format/calibration.h"
#include "sim/port/time.h"

namespace hooke::report {

struct StudyPlan {
  std::vector<std::int64_t> nodes{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::int64_t seeds = 3;
  std::vector<std::string> backends{"c10d"};
  std::vector<model::Variant> variants{model::Variant::torch_2_x};
  /// Nodes whose machines are lost, at times drawn by the seed, within a second of the last start.
  /// The others are enough for a round, and their store is on none of these machines.
  std::int64_t lost = 0;
  /// The workers end after a second, and the agents are followed to their ends.
  bool to_the_end = false;
  /// Service times of the store, per request.
  std::vector<sim::Duration> service{std::chrono::microseconds(11)};
  /// Instead of these: a store and a network that were measured.
  std::optional<scenario::Calibration> calibration;
  /// PyTorch's unless told otherwise.
  sim::Duration join_timeout = std::chrono::seconds(600), keep_alive = std::chrono::seconds(5);
  sim::Duration start_spread{};  ///< within which the nodes start, at times drawn by the seed
  std::chrono::milliseconds real_time_max = std::chrono::hours(1);  ///< of one run
};

/// How far one run is.
struct StudyProgress {
  std::int64_t nodes = 0, seed = 0;
  std::size_t verdicts = 0;    ///< nodes that have their ranks or never will
  sim::Duration now{}, end{};  ///< virtual: so far, and when the run ends at the latest
};

/// Figures of all seeds at one number of nodes, one service time and one kind of rendezvous.
struct StudyPoint {
  std::string backend;
  model::Variant variant = model::Variant::torch_2_x;
  std::int64_t nodes = 0, lost = 0;
  sim::Duration service{};             ///< of the store, per request
  std::int64_t seeds = 0;              ///< that were run: one where it let no agent in
  std::uint64_t joins = 0;             ///< nodes that got into the round, of those not lost
  std::uint64_t failures = 0;          ///< nodes that did not
  sim::Duration p50{}, p99{}, last{};  ///< of the time from wanting to join to being in
  sim::Duration whole{};               ///< from the first start until the last is in; the longest
  /// Likewise until the last has its ranks; nullopt: some never had them.
  std::optional<sim::Duration> formed;
  /// From when the last agent came to the exit barrier until the last has ended; nullopt: they were
  /// not followed so far, or not all ended well.
  std::optional<sim::Duration> barrier;
  std::int64_t cut = 0;             ///< runs that took more real time than they may
  double attempts_per_node = 0;     ///< compare-and-sets, of nodes that got in or not
  double conflicts_per_node = 0;    ///< those that lost
  double bytes_per_node = 0;        ///< of state offered
  std::uint64_t evictions = 0;      ///< nodes declared dead while they lived
  std::chrono::nanoseconds wall{};  ///< real time of one run, on average
};

struct Study {
  std::vector<StudyPoint> points;
};

/// Runs the study; prints a table to `table`, line by line as points are done. `progress` is called
/// every few thousand events.
Study run_study(const StudyPlan& plan, std::ostream& table,
                const std::function<void(const StudyProgress&)>& progress = nullptr);

std::string study_json(const Study& study);
std::string study_csv(const Study& study);

}  // namespace hooke::report
