#pragma once
// What hooke plan is asked about: a cluster, and a job on it.

#include <cstdint>
#include <optional>
#include <string>

#include "model/variant/variant.h"
#include "scenarios/format/calibration.h"
#include "sim/port/time.h"

namespace hooke::report {

using namespace std::chrono_literals;

inline double in_seconds(sim::Duration span) {
  return std::chrono::duration<double>(span).count();
}

struct JobPlan {
  // The cluster.
  std::int64_t nodes = 0;         ///< that train
  std::int64_t spares = 0;        ///< whose agents run, too
  sim::Duration node_failures{};  ///< mean time between failures of nodes, of all that train
  std::optional<sim::Duration> worker_failures;  ///< … of processes, which cost no node
  sim::Duration repair = 4h;                     ///< until a failed node is back

  /// Its network and the speed of its store, where they were measured.
  std::optional<scenario::Calibration> calibration;

  // The job.
  std::int64_t min_nodes = 0;        ///< with fewer it waits
  sim::Duration checkpoint = 30min;  ///< of training between two checkpoints
  sim::Duration save{};              ///< in which a checkpoint keeps the workers from training
  sim::Duration load = 2min;  ///< from a worker's start until it trains: imports, the checkpoint
  sim::Duration peer_timeout = 10min;  ///< for which a collective waits for a lost peer
  sim::Duration relaunch = 15min;      ///< until a job that has ended, or hangs, is started anew

  // Its agents.
  model::Variant variant = model::Variant::torch_2_x;
  std::string backend = "c10d";
  bool store_apart = false;  ///< the store is on a machine of its own
  /// Workers meet in the rendezvous' own store, as PyTorch has it unless
  /// TORCH_DISABLE_SHARE_RDZV_TCP_STORE says otherwise.
  bool shares_store = true;
  std::int64_t max_restarts = 3;
  sim::Duration join = 600s, last_call = 30s, keep_alive = 5s, monitor = 100ms;
};

}  // namespace hooke::report
