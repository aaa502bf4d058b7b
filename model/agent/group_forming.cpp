// How the group of an agent comes about: the rendezvous, the ranks, and the start of the workers
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._rendezvous,
// local_elastic_agent.py:LocalElasticAgent._start_workers).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/elastic_agent.h"
#include "model/agent/rank_assignment.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/bootstrap.h"
#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "model/store/stepping_store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Whether a group that is in one state may enter another one, whatever the kind of its agent.
bool may_follow(WorkerState from, WorkerState to) {
  switch (from) {
    case WorkerState::unknown: return false;
    case WorkerState::init: return to == WorkerState::healthy;
    // An end, the mark of silence, a restart for the other agents.
    case WorkerState::healthy:
    case WorkerState::unhealthy: return to != WorkerState::init && to != WorkerState::unknown;
    // Started anew; or the job was over meanwhile.
    case WorkerState::stopped: return to == WorkerState::healthy || to == WorkerState::failed;
    // The others want another round, or the budget has a restart.
    case WorkerState::succeeded:
    case WorkerState::failed: return to == WorkerState::stopped;
  }
  return false;
}

}  // namespace

void ElasticAgent::rendezvous() {
  RendezvousInfo info = join_round();
  check_signals(ports_);
  ports_.fault_point.reach("agent.joined");
  take_place(std::move(info));
  ports_.trace.emit(events::ranks_assigned,
                    {handler_.get_run_id(), group_.round, group_.group_rank,
                     group_.group_world_size, group_.ranks.base_rank, group_.ranks.world_size});
  ports_.fault_point.reach("agent.ranks_assigned");
}

RendezvousInfo ElasticAgent::join_round() {
  RendezvousInfo info;
  reports_.timed("RENDEZVOUS", [&] { info = handler_.next_rendezvous(); });
  return info;
}

void ElasticAgent::take_place(RendezvousInfo info) {
  HOOKE_CHECK(info.store != nullptr, "a round has a store");
  std::shared_ptr<Store> store = make_stepping_store(ports_, std::move(info.store));
  RankAssignment ranks;
  reports_.timed("ASSIGN_WORKER_RANKS",
                 [&] { ranks = exchange_ranks(spec_, *store, info.rank, info.world_size); });
  group_.store = std::move(store);
  group_.round = info.round;
  group_.group_rank = info.rank;
  group_.group_world_size = info.world_size;
  group_.ranks = ranks;
  if (!rendezvous_says_where_workers_meet(spec_.variant)) {
    // The agent of rank 0 publishes the address itself: what the configuration says, else
    // --local-addr or its own name and a free port that it has only probed.
    const RendezvousStoreInfo given =
        info.bootstrap.value_or(RendezvousStoreInfo{spec_.local_addr, 0});
    group_.master =
        build_store_info(ports_, info.rank, *group_.store, given.master_addr, given.master_port);
  } else {
    HOOKE_CHECK(info.bootstrap.has_value(), "the rendezvous has the address of the workers' store");
    group_.master = *info.bootstrap;
  }
}

std::vector<WorkerStart> ElasticAgent::worker_starts() {
  kit_.starts->make_room(attempt_);
  kit_.starts->tell_of_timers(timers_->start(handler_.get_run_id()));
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    ranks.push_back(group_.ranks.base_rank + i);
  }
  kit_.heartbeats->start(ranks);
  HOOKE_CHECK(kit_.heartbeats->listens() == spec_.heartbeats.has_value(),
              "the agent listens to heartbeats exactly when the settings ask for them");
  kit_.heartbeats->share(group_);
  return kit_.starts->all(attempt_);
}

void ElasticAgent::start_workers() {
  HOOKE_CHECK(group_.store != nullptr, "the group has a store when workers are started");
  // These releases ask the store a second time
  // (local_elastic_agent.py:LocalElasticAgent._start_workers).
  if (!rendezvous_says_where_workers_meet(spec_.variant))
    group_.master = read_store_info(*group_.store);
  context_ = kit_.context(ports_, launcher_, spec_, worker_starts());
  HOOKE_CHECK(context_ != nullptr, "start_workers() has made a process context");
  silent_since_.reset();
  health_check_.start([this] {
    if (silent_since_) return *silent_since_;
    return timers_->server() == nullptr ? ports_.clock.wall_now()
                                        : timers_->server()->last_progress_time();
  });
  install_signal_handlers();
  context_->start();
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) tell_started(i);
  kit_.heartbeats->announce(*context_);
  ports_.fault_point.reach("agent.workers_started");
}

void ElasticAgent::tell_started(std::int64_t local_rank) const {
  HOOKE_CHECK(0 <= local_rank && local_rank < spec_.local_world_size, "local_rank is in range");
  const std::string master =
      group_.master.master_addr + ":" + std::to_string(group_.master.master_port);
  ports_.trace.emit(events::worker_started,
                    {handler_.get_run_id(), group_.round,
                     context_->pid(static_cast<std::size_t>(local_rank)).value, local_rank,
                     group_.ranks.base_rank + local_rank, group_.ranks.world_size,
                     attempt_.restart_count, master});
}

void ElasticAgent::enter(WorkerState state) {
  const WorkerState before = std::exchange(group_.state, state);
  if (before == state) return;
  HOOKE_CHECK(may_follow(before, state), "this change of the group's state is allowed");
  ports_.trace.emit(events::group_state, {to_string(state), attempt_.restart_count});
}

void ElasticAgent::install_signal_handlers() {
  for (const sim::Signal signal : spec_.signals_to_handle) {
    if (!ports_.processes.catch_signal(signal)) {
      throw EscapedPythonError("OSError", std::string(to_string(signal)) + " cannot be caught");
    }
  }
  handlers_installed_ = true;
}

}  // namespace hooke::model
