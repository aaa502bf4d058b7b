// From what the store holds to what it means now.
#include "model/rendezvous/job_record.h"

#include <algorithm>
#include <utility>

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
  JobNode out{*node, std::nullopt, std::nullopt};
  if (const Heartbeat* const heartbeat = state.heartbeat(node)) {
    out.heartbeat_age = now - heartbeat->at;
  }
  return out;
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
  if (out.status == JobStatus::last_call) out.last_call_left = *state.deadline - now;
  std::vector<Participant> members = state.participants;
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
  }
  return out;
}

}  // namespace hooke::model
