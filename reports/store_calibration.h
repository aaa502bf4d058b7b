#pragma once
// Measures a live store, so that a simulated one is as fast.

#include <functional>

#include "model/store/tcp_store.h"
#include "scenarios/format/calibration.h"

namespace hooke::report {

struct CalibrationPlan {
  model::TcpStoreOptions store;
  std::size_t connections = 64;                  ///< that ask at once
  sim::Duration span = std::chrono::seconds(1);  ///< of each of the five measurements
  /// Processor time of this process so far.
  std::function<sim::Duration()> processor_time = [] { return sim::Duration{}; };
};

/// Asks for a while with one client, then with many. A service time is the time of the store for
/// one request when its queue is never empty; the time per byte is the difference between small and
/// large values; latency is what a lone client waits beyond the service time, halved. Whole
/// nanoseconds: a store that takes less for a byte has 0ns. StoreError when the store fails.
scenario::Calibration calibrate_store(sim::Ports& ports, const CalibrationPlan& plan);

}  // namespace hooke::report
