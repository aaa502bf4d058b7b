// What others ask of a version: whether it is closed, how many wait for it, which members it has; and
// its closing.
#include <utility>

#include "model/observe/trace_events.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Status = LegacyState::Status;

}  // namespace

bool LegacyEtcdRendezvous::is_closed() {
  try {
    return run_->read().state->status == Status::closed;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

std::int64_t LegacyEtcdRendezvous::num_workers_waiting() {
  try {
    return waiting_in(*run_->read().state);
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return 0;
    throw;
  }
}

std::int64_t LegacyEtcdRendezvous::waiting_in(const LegacyState& state) {
  HOOKE_CHECK(state.status != Status::final_ || state.num_workers_waiting,
              "a final version counts the nodes that wait");
  return state.status == Status::final_ ? *state.num_workers_waiting : 0;
}

std::vector<Seat> LegacyEtcdRendezvous::others_alive() {
  const Active seen = run_->read();
  if (seen.state->status != Status::final_) return {};
  const std::int64_t version = *seen.state->version;
  HOOKE_CHECK(seen.state->participants.has_value(), "a final version has participants");
  std::vector<Seat> others;
  for (const std::int64_t rank : run_->ranks_alive(version, *seen.state->participants))
    if (run_->keep_alive_path(version, rank) != own_keep_alive_) others.push_back({version, rank});
  return others;
}

void LegacyEtcdRendezvous::set_closed() {
  while (!try_close()) cas_delay();
}

bool LegacyEtcdRendezvous::try_close() {
  const Active seen = run_->read();
  return seen.state->status == Status::closed || replace_by_closed(seen);
}

bool LegacyEtcdRendezvous::replace_by_closed(const Active& seen) {
  LegacyState next = *seen.state;
  next.status = Status::closed;
  if (!run_->replace(seen, next)) return false;
  HOOKE_CHECK(seen.state->status != Status::closed, "a rendezvous is closed once");
  ports_.trace.emit(events::rendezvous_closed, {settings_.run_id, next.version.value_or(0)});
  return true;
}

}  // namespace hooke::model
