// From what the store holds to what it means now.
#include "model/rendezvous/job_record.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

JobStatus status_of(const std::optional<RendezvousView>& view) {
  if (!view) return JobStatus::unknown;
  if (view->state == nullptr) return JobStatus::no_state;
  if (view->state->closed) return JobStatus::closed;
  if (view->state->complete) return JobStatus::complete;
  return view->state->deadline ? JobStatus::last_call : JobStatus::gathering;
}

JobNode job_node(const RendezvousState& state, const NodeRef& node, sim::WallTime now) {
  JobNode out;
  out.node = *node;
  if (const Heartbeat* const heartbeat = state.heartbeat(node)) {
    out.heartbeat_age = now - heartbeat->at;
  }
  return out;
}

JobStatus status_of(const std::optional<LegacyEtcdView>& view) {
  if (!view) return JobStatus::unknown;
  if (!view->state) return JobStatus::no_state;
  switch (view->state->status) {
    case LegacyState::Status::closed: return JobStatus::closed;
    case LegacyState::Status::final_: return JobStatus::complete;
    default: return JobStatus::gathering;
  }
}

/// `workers`: by rank of their agent.
void give_workers(const std::vector<AgentWorkers>& workers, JobRecord& to) {
  for (JobNode& node : to.participants) {
    if (!node.rank || *node.rank < 0) continue;
    const auto rank = static_cast<std::size_t>(*node.rank);
    if (rank < workers.size()) node.workers = workers[rank];
  }
}

}  // namespace

std::string_view to_string(JobStatus status) {
  switch (status) {
    case JobStatus::unknown: return "unknown";
    case JobStatus::no_state: return "no state";
    case JobStatus::gathering: return "gathering";
    case JobStatus::last_call: return "last call";
    case JobStatus::complete: return "complete";
    case JobStatus::closed: return "closed";
  }
  HOOKE_CHECK(false, "each status of a job has a name");
  return "?";
}

std::optional<std::int64_t> JobRecord::rank_of(const NodeDesc& node) const {
  for (const JobNode& each : participants) {
    if (each.node == node) return each.rank;
  }
  return std::nullopt;
}

JobRecord job_record(std::string run_id, std::string backend,
                     const std::optional<RendezvousView>& view, sim::WallTime now) {
  JobRecord out;
  out.run_id = std::move(run_id);
  out.backend = std::move(backend);
  out.status = status_of(view);
  if (!view || view->state == nullptr || view->state->closed) return out;
  const RendezvousState& state = *view->state;
  out.round = state.round;
  HOOKE_CHECK(out.status != JobStatus::last_call || state.deadline, "a last call has an end");
  if (out.status == JobStatus::last_call) out.last_call_left = *state.deadline - now;
  std::vector<Participant> members = state.participants.entries();
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (const Participant& member : members) {
    JobNode& node = out.participants.emplace_back(job_node(state, member.node, now));
    if (state.complete) node.rank = member.rank;  // ranks are given when the round completes
  }
  for (const NodeRef& node : state.wait_list) out.wait_list.push_back(job_node(state, node, now));
  for (const NodeRef& node : state.redundancy_list) {
    out.redundancy_list.push_back(job_node(state, node, now));
  }
  if (state.complete) {
    out.master = view->master;
    out.master_is_missing = !view->master || view->master_round < state.round;
    out.group_world_size = static_cast<std::int64_t>(members.size());
    out.world_size = view->world_size;
    give_workers(view->workers, out);
  }
  return out;
}

JobRecord job_record(std::string run_id, const std::optional<LegacyEtcdView>& view) {
  JobRecord out;
  out.run_id = std::move(run_id);
  out.backend = "etcd";
  out.status = status_of(view);
  if (!out.running()) return out;
  HOOKE_CHECK(view && view->state, "a job that runs has a state");
  const LegacyState& state = *view->state;
  out.round = state.version;
  if (state.participants) out.participants.resize(state.participants->size());
  for (std::size_t rank = 0; rank < out.participants.size(); ++rank) {
    JobNode& node = out.participants[rank];
    if (state.keep_alives) node.has_key = rank < view->kept.size() && view->kept[rank];
    if (out.status == JobStatus::complete) node.rank = static_cast<std::int64_t>(rank);
  }
  if (out.status != JobStatus::complete) return out;
  out.wait_list.resize(
      static_cast<std::size_t>(std::clamp<std::int64_t>(*state.num_workers_waiting, 0, 100'000)));
  out.master = view->master;
  out.group_world_size = static_cast<std::int64_t>(out.participants.size());
  give_workers(view->workers, out);
  if (!view->workers.empty()) {
    out.world_size = view->workers.back().first_rank + view->workers.back().count;
  }
  return out;
}

JobRecord job_record(std::string run_id, const std::optional<StaticView>& view,
                     RendezvousStoreInfo master) {
  JobRecord out;
  out.run_id = std::move(run_id);
  out.backend = "static";
  if (!view) return out;
  out.status = JobStatus::complete;
  out.master = std::move(master);
  out.world_size = view->world_size;
  if (view->workers.empty()) return out;
  out.group_world_size = static_cast<std::int64_t>(view->workers.size());
  out.participants.resize(view->workers.size());
  for (std::size_t rank = 0; rank < view->workers.size(); ++rank) {
    out.participants[rank].rank = static_cast<std::int64_t>(rank);
  }
  give_workers(view->workers, out);
  return out;
}

}  // namespace hooke::model
