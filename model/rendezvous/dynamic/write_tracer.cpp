#include "model/rendezvous/dynamic/write_tracer.h"

#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

void WriteTracer::on_write(const std::vector<PendingChange>& changes,
                           const std::vector<DeadNode>& dead, std::optional<bool> accepted,
                           std::size_t bytes) {
  HOOKE_CHECK(bytes > 0, "the bytes of the state are not empty");
  HOOKE_CHECK(cost.conflicts <= cost.attempts, "there are at most as many lost writes as attempts");
  ++cost.attempts;
  cost.bytes += bytes;
  if (!accepted.value_or(false)) {
    ++cost.conflicts;
    if (!std::exchange(lost_one_, true)) trace_.emit(events::coverage_point, {coverage::kCasLost});
    return;
  }
  for (const PendingChange& change : changes) on_accepted(change, bytes);
  for (const DeadNode& node : dead) {
    const std::int64_t round = changes.empty() ? -1 : changes.back().round;
    trace_.emit(events::rendezvous_evicted,
                {settings_.run_id, round, node.node->text(), node.silence, node.was_participant});
  }
}

void WriteTracer::on_accepted(const PendingChange& change, std::size_t bytes) {
  trace_.emit(events::rendezvous_write,
              {settings_.run_id, to_string(change.action), change.round, bytes});
  HOOKE_CHECK(changes_the_state(change.action), "the action of a pending change changes the state");
  HOOKE_CHECK(change.round >= 0, "the number of a round is not negative");
  switch (change.action) {
    case Action::add_to_participants: added(change, "participants"); break;
    case Action::add_to_wait_list:
      added(change, "wait_list");
      trace_.emit(events::coverage_point, {coverage::kLateJoinerWaits});
      break;
    case Action::add_to_redundancy_list:
      added(change, "redundancy_list");
      trace_.emit(events::coverage_point, {coverage::kRedundancyListUsed});
      break;
    case Action::remove_from_participants:
      trace_.emit(events::rendezvous_left, {settings_.run_id, change.round, change.members});
      break;
    case Action::remove_from_wait_list:
      trace_.emit(events::coverage_point, {coverage::kRollback});
      break;
    case Action::remove_from_redundancy_list:
      trace_.emit(events::coverage_point, {coverage::kDeadlineExtended});
      break;
    case Action::mark_rendezvous_complete:
      trace_.emit(events::coverage_point, {coverage::kLastCallExpired});
      break;
    case Action::mark_rendezvous_closed:
      trace_.emit(events::rendezvous_closed, {settings_.run_id, change.round});
      break;
    default: break;
  }
  if (change.completed) {
    HOOKE_CHECK(change.members > 0, "a completed round has participants");
    trace_.emit(events::rendezvous_completed, {settings_.run_id, change.round, change.members,
                                               settings_.min_nodes, settings_.max_nodes});
  }
}

}  // namespace hooke::model
