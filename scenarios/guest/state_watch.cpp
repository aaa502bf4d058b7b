// Two states and their difference. PyTorch writes after each single action.
#include "scenarios/guest/state_watch.h"

#include <algorithm>
#include <utility>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/state/state_codec.h"

namespace hooke::scenario {
namespace {

using model::Action;
using model::PendingChange;
using model::RendezvousState;

bool has(const model::SharedList<model::Participant>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const model::Participant& each) { return each.node->text() == name; });
}

bool has(const model::SharedList<model::NodeRef>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const model::NodeRef& each) { return each->text() == name; });
}

}  // namespace

StateWatch::StateWatch(sim::Ports& ports, model::RendezvousSettings settings)
    : ports_(ports),
      settings_(std::move(settings)),
      key_(model::c10d_state_key(settings_.run_id)),
      tracer_(ports.trace, ports.clock, settings_),
      seen_at_(now()) {}

/// Null for the value that stands for no state.
model::StateRef StateWatch::decode(const sim::Value& stored) const {
  if (stored == model::c10d_no_state() || stored.empty()) return nullptr;
  return model::decode_state(model::decode_stored(stored), settings_.variant);
}

void StateWatch::on_store(const StoreCall& call) {
  if (call.key != key_) return;
  if (call.operation == "get") {
    known_ = decode(call.answer);
    seen_at_ = now();
    return tracer_.on_read(known_.get(), call.began);
  }
  if (call.operation != "compare_set" || call.value == model::c10d_no_state()) return;
  const model::StateRef offered = decode(call.value);
  const model::StateRef before = decode(call.expected);
  const bool accepted = call.answer == call.value;
  const RendezvousState none;
  const RendezvousState& from = before == nullptr ? none : *before;
  const std::size_t bytes = model::decode_stored(call.value).size();
  const std::vector<model::DeadNode> dead = evicted(from, *offered);
  known_ = decode(call.answer);
  if (accepted) {
    tracer_.on_offered(*offered, true, call.began);
  } else if (known_ != nullptr) {
    tracer_.on_lost(*known_, call.began);
  }
  tracer_.on_write({change(from, *offered)}, dead, accepted, bytes);
  for (const model::DeadNode& node : dead) {
    if (accepted && node.node->text() == self_) tracer_.on_own_death();
  }
  seen_at_ = now();
}

PendingChange StateWatch::change(const RendezvousState& before,
                                 const RendezvousState& after) const {
  const bool completed = after.complete && (!before.complete || after.round != before.round);
  if (after.closed && !before.closed) {
    return {Action::mark_rendezvous_closed, after.round, after.participants.size(), completed};
  }
  if (auto seat = own_seat(before, after)) {
    seat->completed = completed;
    return *seat;
  }
  const Action action = completed ? Action::mark_rendezvous_complete : Action::keep_alive;
  return {action, after.round, after.participants.size(), completed};
}

std::optional<PendingChange> StateWatch::own_seat(const RendezvousState& before,
                                                  const RendezvousState& after) const {
  const auto moved = [&](const auto& was, const auto& is, Action came,
                         Action went) -> std::optional<PendingChange> {
    // A seat of another round is another seat.
    if (has(was, self_) == has(is, self_) && !(has(is, self_) && before.round != after.round)) {
      return std::nullopt;
    }
    const bool has_come = has(is, self_);
    // The last one that leaves a round begins the next.
    const std::int64_t round =
        !has_come && went == Action::remove_from_participants ? before.round : after.round;
    return PendingChange{has_come ? came : went, round, is.size(), false};
  };
  // A node that takes a seat leaves the wait list, and so the participants come first.
  auto seat = moved(before.participants, after.participants, Action::add_to_participants,
                    Action::remove_from_participants);
  if (!seat) {
    seat = moved(before.wait_list, after.wait_list, Action::add_to_wait_list,
                 Action::remove_from_wait_list);
  }
  if (!seat) {
    seat = moved(before.redundancy_list, after.redundancy_list, Action::add_to_redundancy_list,
                 Action::remove_from_redundancy_list);
  }
  return seat;
}

/// Others whose heartbeats are gone: a node removes no other agent but the dead. Of itself it takes
/// the seat either way; it has taken itself for dead when its heartbeat was as old as that of the
/// dead.
std::vector<model::DeadNode> StateWatch::evicted(const RendezvousState& before,
                                                 const RendezvousState& after) const {
  std::vector<model::DeadNode> out;
  const sim::Duration longest_silence =
      settings_.keep_alive_interval * settings_.keep_alive_max_attempt;
  for (const model::Heartbeat& beat : before.last_heartbeats) {
    const sim::Duration silence = seen_at_ - beat.at;
    const bool gone = beat.node->text() == self_
                          ? own_seat(before, after) && silence > longest_silence
                          : after.heartbeat(beat.node) == nullptr;
    if (gone) out.push_back({beat.node, silence, before.participant(beat.node) != nullptr});
  }
  return out;
}

}  // namespace hooke::scenario
