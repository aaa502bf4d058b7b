#pragma once
// What an agent runs and how it stands (torch/distributed/elastic/agent/server/api.py: WorkerSpec,
// WorkerState, WorkerGroup, RunResult).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heartbeat/heartbeat_plan.h"
#include "model/rendezvous/core/handler.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "model/worker/logs.h"
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

/// Between signal and SIGKILL wherever workers are stopped before the end of run(), whatever was
/// configured (A-5; multiprocessing/api.py:PContext.close).
inline constexpr sim::Duration kGrace = std::chrono::seconds(30);

struct WorkerSpec {
  std::string role = "default";
  std::int64_t local_world_size = 1;  ///< workers on this node, > 0
  std::vector<std::string> command;   ///< argv; ${local_rank} is substituted
  std::int64_t max_restarts = 3;
  sim::Duration monitor_interval = std::chrono::milliseconds(100);
  sim::Duration exit_barrier_timeout = std::chrono::seconds(300);
  sim::Duration shutdown_timeout = std::chrono::seconds(30);  ///< see grace_at_end()
  std::vector<sim::Signal> signals_to_handle;
  bool signals_caught = false;    ///< by an earlier run of this process, before the first start
  bool worker_identical = false;  ///< TORCH_ELASTIC_WORKER_IDENTICAL: no exchange of role infos
  /// Every worker believes to be local rank 0 of the one device it sees.
  bool virtual_local_rank = false;
  /// What the launcher has put into the agent's own environment, on top of what it was given.
  std::map<std::string, std::string> environment;
  /// --numa-binding: the processors of each local rank as numactl takes them; empty: not bound.
  std::vector<std::string> processors;
  LogsSpec logs;
  std::string local_addr;  ///< what the agent tells workers of its machine; empty: its own name
  std::string event_log_handler = "null";   ///< destination of events (2.x)
  std::optional<HeartbeatPlan> heartbeats;  ///< nullopt: workers are not asked to beat
  Variant variant = Variant::torch_2_x;
  /// The job's agents wait for each other before they close the rendezvous, or refuse to: each tells
  /// when its work is done (shutdown.h).
  bool tells_when_done = false;
  /// The health check sees no progress of an agent in the exit barrier (#178197).
  bool silent_in_exit_barrier = false;
  /// Known defect of the releases up to 2.12: see waits_without_limit_for_the_killed() (#185414).
  bool waits_without_limit_for_the_killed = false;
  PlantedSet planted{};

  /// Between signal and SIGKILL at the end of run(); earlier releases know no other than 30 s.
  [[nodiscard]] sim::Duration grace_at_end() const {
    return has_a_shutdown_timeout(variant) ? shutdown_timeout : kGrace;
  }
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

/// How run() ended; all or nothing.
struct RunResult {
  WorkerState state = WorkerState::unknown;
  ProcessFailures failures;
  /// Others may still be at work, so that this end is not the job's. PyTorch's agents do not look
  /// (L-2).
  bool job_goes_on = false;
  /// All agents of the round have come to its exit barrier.
  bool others_are_done = false;
  [[nodiscard]] bool failed() const { return state == WorkerState::failed; }
};

}  // namespace hooke::model
