#pragma once
// What was measured of a live store, as a file: simulated runs take their store and network from it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/json_reader.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

struct Calibration {
  /// One kind of request: what of its time each request takes, and what each byte adds.
  struct Operation {
    std::string name;
    Duration service_time{};
    Duration service_time_per_byte{};
    friend bool operator==(const Operation&, const Operation&) = default;
  };

  // What simulated runs take from it, as a scenario's cluster has it.
  Duration service_time{};
  Duration service_time_per_byte{};
  Duration latency_median{}, latency_p99{};  ///< of one message, in one direction

  // How it was measured; for the reader.
  std::string endpoint;          ///< empty: nothing is said of the measurement
  std::string protocol;          ///< "torch-2.x"
  std::int64_t connections = 0;  ///< that asked at once
  /// Of one processor, what the measuring process took; near 100 the store may be faster than its
  /// service time here says.
  std::int64_t client_percent = 0;
  std::vector<Operation> operations;
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

/// Reads a file as calibration_json writes it; `source` names it in messages. ScenarioError for
/// anything else.
Calibration load_calibration(std::string_view text, const std::string& source);

nlohmann::ordered_json calibration_json(const Calibration& calibration);

/// The store and the network of `cluster` become those that were measured.
void apply(const Calibration& calibration, ClusterPlan& cluster);

}  // namespace hooke::scenario
