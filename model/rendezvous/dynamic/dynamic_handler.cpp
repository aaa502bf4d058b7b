// The handler's calls follow PyTorch's methods one by one.
#include "model/rendezvous/dynamic/dynamic_handler.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "model/observe/trace_events.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

using namespace std::chrono_literals;
using sim::MonotonicTime;

DynamicHandler::DynamicHandler(std::shared_ptr<HandlerCore> core,
                               std::unique_ptr<Bootstrap> bootstrap)
    : core_(std::move(core)), bootstrap_(std::move(bootstrap)) {
  HOOKE_CHECK(core_ != nullptr && bootstrap_ != nullptr, "the handler has a core and a bootstrap");
}

bool DynamicHandler::use_agent_store() const {
  return serves_the_workers_store(core_->settings.variant) && bootstrap_->shares_store();
}

RendezvousInfo DynamicHandler::next_rendezvous() {
  HandlerCore& core = *core_;
  const auto spent = [&](std::int64_t round) {
    const WriteCost& cost = core.tracer.cost;
    trace().emit(events::rendezvous_cost,
                 {core.settings.run_id, round, cost.attempts, cost.conflicts, cost.bytes});
  };
  const auto failed = [&](const char* error, const char* what) {
    spent(-1);
    trace().emit(events::rendezvous_failed, {core.settings.run_id, error, what});
  };
  core.tracer.cost = {};
  RendezvousInfo info;
  try {
    info = join();
  } catch (const RendezvousError& error) {
    failed(error.class_name(), error.what());
    throw;
  } catch (const EscapedPythonError& error) {
    failed(error.class_name(), error.what());
    throw;
  } catch (const SignalException& error) {
    failed("SignalException", error.what());
    throw;
  }
  HOOKE_CHECK(info.store != nullptr, "a round that is joined has a store");
  spent(info.round);
  // Outside the guarded part, as in PyTorch: a failure here leaves a member whose heartbeat goes on
  //
  exchange_bootstrap(info);
  trace().emit(events::rendezvous_joined,
               {core.settings.run_id, core.node->text(), info.round, info.rank, info.world_size,
                info.bootstrap ? info.bootstrap->master_addr : std::string(),
                std::uint32_t{info.bootstrap ? info.bootstrap->master_port : std::uint16_t{0}}});
  return info;
}

RendezvousInfo DynamicHandler::join() {
  HandlerCore& core = *core_;
  sim::Ports& ports = core.ports;
  trace().emit(events::rendezvous_joining,
               {core.settings.run_id, core.node->text(), core.holder->state().round});
  ports.fault_point.reach("rendezvous.joining");
  stop_keep_alive();
  HOOKE_CHECK(keep_alive_ == nullptr, "the keep-alive task is stopped while the node joins");
  if (core.holder->state().round == 0) {
    // All nodes of a job start at about the same time: spread their first attempts.
    const sim::Duration delay = ports.random.between("rendezvous.jitter", 0ms, 300ms);
    if (delay >= 10ms) interruptible_sleep(ports, delay);
  }
  enter_round(join_deadline());
  ports.fault_point.reach("rendezvous.joined");
  start_keep_alive();
  const RendezvousState& state = core.holder->state();
  const Participant* const self = state.participant(core.node);
  if (self == nullptr) throw EscapedPythonError("KeyError", core.node->text());
  members_ = state.participants;
  seat_ = {state.round, self->rank};
  HOOKE_CHECK(state.round >= 0, "the number of a round is not negative");
  RendezvousInfo info;
  info.round = state.round;
  info.rank = self->rank;
  info.world_size = world_size(state);
  info.store = round_store(state.round);
  return info;
}

MonotonicTime DynamicHandler::join_deadline() const {
  HOOKE_CHECK(core_->settings.timeout.join > 0s, "the settings have passed validation");
  return core_->ports.clock.monotonic_now() + core_->settings.timeout.join;
}

void DynamicHandler::enter_round(MonotonicTime deadline) {
  core_->run(&Decisions::exit, deadline);
  core_->run(&Decisions::join, deadline, core_->settings.timeout.join);
}

void DynamicHandler::start_keep_alive() {
  HOOKE_CHECK(keep_alive_ == nullptr, "no keep-alive task runs when one is started");
  keep_alive_ = std::make_unique<KeepAlive>(core_);
  keep_alive_->start();
}

void DynamicHandler::stop_keep_alive() {
  if (keep_alive_ != nullptr) std::exchange(keep_alive_, nullptr)->cancel();
}

/// Of what is held now.
std::int64_t DynamicHandler::world_size(const RendezvousState& state) const {
  return static_cast<std::int64_t>(state.participants.size());
}

std::string DynamicHandler::prefix_of(std::int64_t round) const {
  return round_prefix(core_->settings.run_id, round);
}

std::shared_ptr<Store> DynamicHandler::round_store(std::int64_t round) {
  HOOKE_CHECK(core_->resources.store != nullptr, "the handler has a store for the round");
  return make_prefix_store(prefix_of(round), core_->resources.store);
}

void DynamicHandler::exchange_bootstrap(RendezvousInfo& info) {
  if (rendezvous_says_where_workers_meet(core_->settings.variant))
    info.bootstrap = bootstrap_->for_round(info.rank, *info.store);
}

bool DynamicHandler::is_closed() {
  const HeartbeatLock::Held lock(core_->heartbeat_lock, core_->ports);
  static_cast<void>(core_->holder->sync());
  return core_->holder->state().closed;
}

std::int64_t DynamicHandler::num_nodes_waiting() {
  const HeartbeatLock::Held lock(core_->heartbeat_lock, core_->ports);
  static_cast<void>(core_->holder->sync());
  const std::int64_t waiting = count_waiting();
  HOOKE_CHECK(waiting >= 0, "num_nodes_waiting() is not negative");
  if (std::exchange(waiting_seen_, waiting) != waiting && waiting > 0) {
    trace().emit(events::rendezvous_waiting_seen,
                 {core_->settings.run_id, core_->holder->state().round, waiting});
  }
  return waiting;
}

/// In the order in which num_nodes_waiting() comes to it.
bool DynamicHandler::may_have_news() {
  if (core_->heartbeat_lock.locked() || !core_->holder->rests()) return true;
  return waiting_seen_ != 0 || count_waiting() != 0;
}

std::int64_t DynamicHandler::count_waiting() const {
  return static_cast<std::int64_t>(core_->holder->state().wait_list.size());
}

std::vector<Seat> DynamicHandler::others_alive() {
  const HeartbeatLock::Held lock(core_->heartbeat_lock, core_->ports);
  static_cast<void>(core_->holder->sync());
  const RendezvousState& state = core_->holder->state();
  std::vector<Seat> others;
  if (state.closed) return others;
  for (const Participant& participant : state.participants) {
    if (*participant.node != *core_->node && is_alive(participant))
      others.push_back({state.round, participant.rank});
  }
  return others;
}

std::optional<GroupView> DynamicHandler::view() const {
  const RendezvousState& state = core_->holder->state();
  GroupView view{state.round,
                 state.complete,
                 state.closed,
                 std::ssize(state.participants),
                 std::ssize(state.wait_list),
                 std::ssize(state.redundancy_list),
                 std::nullopt};
  for (const Heartbeat& heartbeat : state.last_heartbeats) {
    if (state.participant(heartbeat.node) == nullptr) continue;
    if (!view.oldest_keep_alive || heartbeat.at < *view.oldest_keep_alive)
      view.oldest_keep_alive = heartbeat.at;
  }
  return view;
}

bool DynamicHandler::is_alive(const Participant& participant) const {
  const RendezvousSettings& settings = core_->settings;
  const Heartbeat* const heartbeat = core_->holder->state().heartbeat(participant.node);
  return heartbeat != nullptr &&
         heartbeat->at > core_->ports.clock.wall_now() -
                             settings.keep_alive_interval * settings.keep_alive_max_attempt;
}

std::vector<std::int64_t> DynamicHandler::missing_ranks() {
  std::vector<std::int64_t> missing;
  const RendezvousState& state = core_->holder->state();
  auto next = state.participants.begin();  // those that are left are in the old order, as a rule
  for (const Participant& member : members_) {
    const bool is_next = next != state.participants.end() && next->node == member.node;
    if (is_next) ++next;
    if (!is_next && state.participant(member.node) == nullptr) missing.push_back(member.rank);
  }
  return missing;
}

std::shared_ptr<Store> DynamicHandler::job_store() {
  const RendezvousResources& resources = core_->resources;
  return make_prefix_store(job_prefix(core_->settings.run_id),
                           resources.job_store != nullptr ? resources.job_store : resources.store);
}

bool DynamicHandler::run_to_leave(Operation operation) {
  std::exception_ptr raised;  // of the closing itself: the heartbeats have been stopped by then
  try {
    core_->ports.fault_point.reach("rendezvous.closing");
  } catch (const std::exception&) {
    raised = std::current_exception();
  }
  stop_keep_alive();
  before_leaving();
  try {
    if (raised) std::rethrow_exception(raised);
    core_->run(operation, core_->ports.clock.monotonic_now() + core_->settings.timeout.close);
    return true;
  } catch (const RendezvousError& error) {
    trace().emit(events::rendezvous_failed,
                 {core_->settings.run_id, error.class_name(), error.what()});
    return false;
  }
}

void DynamicHandler::close() {
  core_->run(&Decisions::close, core_->ports.clock.monotonic_now() + core_->settings.timeout.close);
}

void DynamicHandler::set_closed() {
  const HeartbeatLock::Held lock(core_->heartbeat_lock, core_->ports);
  close();
}

bool DynamicHandler::shutdown() {
  return run_to_leave(&Decisions::close);
}

}  // namespace hooke::model
