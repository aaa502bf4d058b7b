#pragma once
// How long a rendezvous takes against the number of nodes, and what it costs: all nodes start at
// once, min = max = N, and each join is followed to its verdict.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "sim/port/time.h"

namespace hooke::report {

struct StudyPlan {
  std::vector<std::int64_t> nodes{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::int64_t seeds = 3;
  std::vector<std::int64_t> service_us{
      11};  ///< service times of the store, microseconds per request
  sim::Duration join_timeout = std::chrono::seconds(600);  ///< PyTorch's unless told otherwise
};

/// Figures of all seeds at one number of nodes and one service time.
struct StudyPoint {
  std::int64_t nodes = 0;
  std::int64_t service_us = 0;
  std::int64_t seeds = 0;              ///< that were run: one where it let no agent in
  std::uint64_t joins = 0;             ///< nodes that got into the round
  std::uint64_t failures = 0;          ///< nodes that did not
  sim::Duration p50{}, p99{}, last{};  ///< of the time from wanting to join to being in
  double attempts_per_node = 0;        ///< compare-and-sets, of nodes that got in or not
  double conflicts_per_node = 0;       ///< those that lost
  double bytes_per_node = 0;           ///< of state offered
  std::uint64_t evictions = 0;         ///< nodes declared dead while they lived
  std::chrono::nanoseconds wall{};     ///< real time of one run, on average
};

struct Study {
  std::vector<StudyPoint> points;
};

/// Runs the study; prints a table to `progress`, line by line as points are done.
Study run_study(const StudyPlan& plan, std::ostream& progress);

std::string study_json(const Study& study);
std::string study_csv(const Study& study);

}  // namespace hooke::report
