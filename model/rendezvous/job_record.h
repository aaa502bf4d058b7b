#pragma once
// A job as one record: where it stands, where its workers meet, its nodes. It speaks of the
// present only: a store outlives its jobs, and what it still holds of one that has ended is not
// passed on as if it were so.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/rendezvous/observer.h"
#include "model/rendezvous/other_observers.h"

namespace hooke::model {

enum class JobStatus : unsigned char {
  unknown,    ///< the store knows no such job
  no_state,   ///< agents have met at the store, none has written a state yet
  gathering,  ///< the next round waits for members
  last_call,  ///< it has enough, and waits for more until its last call ends
  complete,   ///< the round has its members: they train, or are about to
  closed,     ///< the job has ended: no agent can join any more
};
/// "unknown", "no state", "gathering" and so on.
std::string_view to_string(JobStatus status);

struct JobNode {
  std::optional<NodeDesc> node;      ///< nullopt: its rendezvous keeps no names (etcd, static)
  std::optional<std::int64_t> rank;  ///< among the agents; set in a complete round
  /// By the reader's wall clock; below zero when the writer's is ahead. nullopt: none is known.
  std::optional<sim::Duration> heartbeat_age;
  /// Whether etcd still has the key that it renews, in place of heartbeats (etcd alone).
  std::optional<bool> has_key;
  std::optional<AgentWorkers> workers;  ///< nullopt: not told, or the round is not complete
};

struct JobRecord {
  std::string run_id;
  std::string backend;
  JobStatus status = JobStatus::unknown;
  /// What follows is there while the job runs, and empty once it has ended or before it begins.
  std::optional<std::int64_t> round;            ///< nullopt: it has none (static)
  std::optional<sim::Duration> last_call_left;  ///< during last call
  std::optional<RendezvousStoreInfo> master;    ///< of a complete round
  /// The complete round has no MASTER_ADDR of its own: a node that was in no round before waits for
  /// it, while the others go on with that of an earlier round
  /// (dynamic_rendezvous.py: next_rendezvous keeps its bootstrap information).
  bool master_is_missing = false;
  std::optional<std::int64_t> group_world_size;  ///< agents of a complete round
  /// Workers of it; also empty where they do not tell (1.13, identical workers).
  std::optional<std::int64_t> world_size;
  std::vector<JobNode> participants;  ///< by rank
  std::vector<JobNode> wait_list;
  std::vector<JobNode> redundancy_list;

  /// True while the record speaks of a job that goes on.
  [[nodiscard]] bool running() const {
    return status == JobStatus::gathering || status == JobStatus::last_call ||
           status == JobStatus::complete;
  }
  /// The agent's rank in the round; nullopt when it is no member of it, or when it is not complete.
  [[nodiscard]] std::optional<std::int64_t> rank_of(const NodeDesc& node) const;
};

/// `view`: what was read of the job, nullopt when the store knows none; `now`: of the reader's wall
/// clock.
JobRecord job_record(std::string run_id, std::string backend,
                     const std::optional<RendezvousView>& view, sim::WallTime now);
/// Of the legacy rendezvous over etcd. A frozen version still gathers: its members confirm.
JobRecord job_record(std::string run_id, const std::optional<LegacyEtcdView>& view);
/// Of the static rendezvous, whose store is at `master`. Until all agents have come, and shown what
/// workers they have, the job is unknown; then it is complete.
JobRecord job_record(std::string run_id, const std::optional<StaticView>& view,
                     RendezvousStoreInfo master);

}  // namespace hooke::model
