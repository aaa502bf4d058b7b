#pragma once
// What an agent runs and how it stands (torch/distributed/elastic/agent/server/api.py: WorkerSpec,
// WorkerState, WorkerGroup, RunResult).

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/rendezvous/handler.h"
#include "model/variant/variant.h"
#include "model/worker/process_failure.h"

namespace hooke::model {

/// State of the whole group of local workers.
enum class WorkerState : unsigned char {
  unknown,
  init,
  healthy,
  unhealthy,
  stopped,
  succeeded,
  failed
};
/// "HEALTHY" and so on.
std::string_view to_string(WorkerState state);

struct WorkerSpec {
  std::string role = "default";
  std::int64_t local_world_size = 1;  ///< workers on this node, > 0
  std::vector<std::string> command;   ///< argv; ${local_rank} is substituted
  std::int64_t max_restarts = 3;
  sim::Duration monitor_interval = std::chrono::milliseconds(100);
  sim::Duration exit_barrier_timeout = std::chrono::seconds(300);
  /// Grace at the end of run() only; everywhere else it is 30 s.
  sim::Duration shutdown_timeout = std::chrono::seconds(30);
  std::vector<sim::Signal> signals_to_handle;
  std::string local_addr;
  bool worker_identical = false;  ///< skip the exchange of role infos (agent.md 2.2)
  std::string log_dir;
  Variant variant = Variant::torch_2_x;
};

/// Ranks of one agent's workers within the job.
struct RankAssignment {
  std::int64_t base_rank = 0;  ///< global rank of local rank 0
  std::int64_t world_size = 0;
  std::int64_t base_role_rank = 0;
  std::int64_t role_world_size = 0;
  friend bool operator==(const RankAssignment&, const RankAssignment&) = default;
};

struct WorkerGroup {
  WorkerState state = WorkerState::init;
  std::shared_ptr<Store> store;  ///< of the current round
  std::int64_t round = 0;
  std::int64_t group_rank = 0;
  std::int64_t group_world_size = 0;
  RankAssignment ranks;
  RendezvousStoreInfo master;
};

/// How run() ended; all or nothing. Keys are global ranks.
struct RunResult {
  WorkerState state = WorkerState::unknown;
  std::map<std::int64_t, ProcessFailure> failures;
  [[nodiscard]] bool failed() const { return state == WorkerState::failed; }
};

}  // namespace hooke::model
