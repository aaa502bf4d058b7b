// The handler's calls follow PyTorch's methods one by one.
#include "model/rendezvous/dynamic/dynamic_handler.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "model/observe/marks.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/bootstrap.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/core/linger.h"
#include "model/rendezvous/dynamic/keep_alive.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "model/store/store_helpers.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::MonotonicTime;

/// Which of the nodes with one name and process number this is. PyTorch counts handlers, so that
/// containers whose agents are all process 1 of one host name are one node, and a successor takes
/// its predecessor for itself; the hardened variant draws it.
std::int64_t local_id(sim::Ports& ports, Variant variant) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 31U;
  if (variant != Variant::hardened) return 0;
  const auto drawn = static_cast<std::int64_t>(ports.random.below("rendezvous.local_id", kIds));
  return drawn < NodeDesc::kHandlersMax ? drawn + NodeDesc::kHandlersMax : drawn;
}

/// Nobody has left since the round was complete: ranks have no holes.
bool is_whole(const RendezvousState& state) {
  const auto size = static_cast<std::int64_t>(state.participants.size());
  return std::all_of(state.participants.begin(), state.participants.end(),
                     [&](const Participant& member) { return member.rank < size; });
}

/// This node has just given up a member, perhaps the one with the last rank.
bool one_took_part(const std::vector<DeadNode>& dead) {
  return std::any_of(dead.begin(), dead.end(),
                     [](const DeadNode& node) { return node.was_participant; });
}

class DynamicHandler final : public RendezvousHandler {
 public:
  DynamicHandler(sim::Ports& ports, RendezvousResources resources,
                 const RendezvousSettings& settings, const std::string& addr)
      : core_(std::make_shared<HandlerCore>(
            ports, std::move(resources), settings,
            NodeDesc{addr, ports.processes.self().value, local_id(ports, settings.variant)})),
        bootstrap_(ports, addr, settings) {}

  [[nodiscard]] std::string get_backend() const override {
    return core_->resources.backend->name();
  }
  [[nodiscard]] std::string get_run_id() const override { return core_->settings.run_id; }
  [[nodiscard]] bool use_agent_store() const override {
    return core_->settings.variant != Variant::torch_1_13 && bootstrap_.shares_store();
  }
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override;
  void set_closed() override;
  std::int64_t num_nodes_waiting() override;
  std::int64_t others_at_work() override;
  GroupState group_state() override;
  bool round_is_taken() override;
  Successor successor() override;
  void when_waiting(std::function<void()> call) override { core_->when_waiting = std::move(call); }
  void when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) override;
  std::vector<std::int64_t> missing_ranks() override;
  void group_formed() override;
  [[nodiscard]] std::optional<sim::Duration> outage_limit() const override;
  bool leave() override;
  void linger() override;
  std::shared_ptr<Store> job_store() override {
    const RendezvousResources& resources = core_->resources;
    return make_prefix_store(job_prefix(core_->settings.run_id), resources.job_store != nullptr
                                                                     ? resources.job_store
                                                                     : resources.store);
  }
  bool shutdown() override;

 private:
  RendezvousInfo join();
  void take_seat(MonotonicTime deadline);
  void begin_after_old_rounds();
  bool was_used(std::int64_t round);
  [[nodiscard]] std::string prefix_of(std::int64_t round) const;
  std::shared_ptr<Store> round_store(std::int64_t round);
  [[nodiscard]] std::optional<NodeDesc> first_member() const;
  void while_waiting();
  void confirm_group();
  [[nodiscard]] bool has_lost_a_member() const;
  bool has_been_forgotten();
  void leave_with_those_who_have();
  [[nodiscard]] std::int64_t admissible() const;
  [[nodiscard]] bool one_is_new() const;
  bool run_to_leave(Operation operation, sim::Duration outage);
  void close();
  sim::Trace& trace() { return core_->ports.trace; }

  std::shared_ptr<HandlerCore> core_;
  Bootstrap bootstrap_;
  std::unique_ptr<KeepAlive> keep_alive_;
  std::int64_t waiting_seen_ = 0;
  bool forming_ = false;   ///< a round has been joined, and its ranks are not yet known
  bool told_ = false;      ///< the round's store has had the workers' address
  MonotonicTime heard_{};  ///< while it is forming: when the rendezvous last answered
  MonotonicTime joined_at_{};
  std::vector<Participant> members_;                             ///< of the round joined last
  std::optional<std::pair<std::int64_t, std::int64_t>> joined_;  ///< round, and its size then
  std::function<bool(std::int64_t, Store&)> was_the_end_;
  std::optional<std::int64_t> beside_;  ///< the round of others that this node has waited beside
  bool was_spare_ = false;              ///< since this node last began to join
};

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
  spent(info.round);
  // Outside the guarded part, as in PyTorch: a failure here leaves a member whose heartbeat goes on
  //
  if (core.settings.variant != Variant::torch_1_13)
    info.bootstrap = bootstrap_.for_round(info.rank, *info.store, first_member());
  told_ = bootstrap_.was_told_in_round();
  if (core.hardened()) confirm_group();
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
               {core.settings.run_id, core.node->text(), core.holder.state().round});
  ports.fault_point.reach("rendezvous.joining");
  if (keep_alive_ != nullptr) std::exchange(keep_alive_, nullptr)->cancel();
  if (core.holder.state().round == 0 && core.settings.max_nodes > 1) {
    // All nodes of a job start at about the same time: spread their first attempts. A node that is
    // alone by its settings, which PyTorch lets wait too, has nobody to be spread from.
    const sim::Duration delay = ports.random.between("rendezvous.jitter", 0ms, 300ms);
    if (delay >= 10ms) interruptible_sleep(ports, delay);
  }
  const bool from_last_round =
      core.settings.planted.has(Planted::rendezvous_join_timeout_from_last_round) && joined_;
  const MonotonicTime deadline =
      (from_last_round ? joined_at_ : ports.clock.monotonic_now()) + core.settings.timeout.join;
  if (core.retrying != nullptr) {
    core.retrying->outage_limit = std::max(core.settings.read_timeout, *outage_limit());
    begin_after_old_rounds();
  }
  joined_.reset();
  beside_.reset();
  was_spare_ = false;
  do {
    core.run(&decide_exit, deadline);
    take_seat(deadline);
    // A round that lost a member since it was complete is no group any more, nor is one that
    // this node has left, which another has written back into a store that came up empty.
  } while (core.hardened() && (!is_whole(core.holder.state()) || !core.holder.is_new_round() ||
                               one_took_part(core.holder.dead_nodes())));
  if (core.retrying != nullptr) core.retrying->outage_limit = {};
  forming_ = core.hardened();
  told_ = false;
  joined_at_ = heard_ = ports.clock.monotonic_now();
  ports.fault_point.reach("rendezvous.joined");
  const bool first = core.holder.state().round == 0;
  if (first || !core.settings.planted.has(Planted::rendezvous_keep_alive_not_restarted))
    keep_alive_ = KeepAlive::start(core_);
  const RendezvousState& state = core.holder.state();
  const Participant* const self = state.participant(core.node);
  if (self == nullptr) throw EscapedPythonError("KeyError", core.node->text());
  RendezvousInfo info;
  info.round = state.round;
  info.rank = self->rank;
  info.world_size =
      static_cast<std::int64_t>(state.participants.size());  // of what is held now
  if (core.settings.planted.has(Planted::rendezvous_world_size_is_maximum))
    info.world_size = core.settings.max_nodes;
  joined_ = {info.round, info.world_size};
  members_ = state.participants;
  if (core.hardened()) core.holder.begin_at(info.round + 1);
  info.store = round_store(state.round);
  return info;
}

/// PyTorch's spare that has seen a free seat and is on its way to it fails when the job is over
/// before it gets there; a spare that has not seen it leaves in peace.
void DynamicHandler::take_seat(MonotonicTime deadline) try {
  core_->run(&decide_join, deadline, core_->settings.timeout.join);
} catch (const RendezvousClosedError&) {
  if (!core_->hardened() || !was_spare_) throw;
  throw RendezvousGracefulExitError(
      "the rendezvous is closed: this node, which was a spare, leaves");
}

void DynamicHandler::when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) {
  was_the_end_ = std::move(was_the_end);
  core_->when_idle = [this] { leave_with_those_who_have(); };
}

/// Members whose store fails just when they end cannot close the rendezvous, and spares would wait
/// for them in a round of their own.
void DynamicHandler::leave_with_those_who_have() {
  HandlerCore& core = *core_;
  const RendezvousState& state = core.holder.state();
  was_spare_ = was_spare_ || state.is_redundant(core.node);
  if (state.complete) beside_ = state.round;
  if (state.complete || !beside_ || state.round != *beside_ + 1) return;
  try {
    const auto store = make_prefix_store(prefix_of(*beside_), core.resources.store);
    if (!was_the_end_(*beside_, *store)) return beside_.reset();
  } catch (const StoreError&) {
    return;  // nobody knows; it is asked again
  }
  close();
  throw RendezvousGracefulExitError("the job has ended with the members of round " +
                                    std::to_string(*beside_) + ": this spare node leaves");
}

/// The keys of a job's rounds may outlive its state: a job that has none begins with the first
/// round of which nothing is there. Whoever writes the first state decides for all.
void DynamicHandler::begin_after_old_rounds() {
  HandlerCore& core = *core_;
  static_cast<void>(core.holder.sync());
  if (core.holder.known() || core.holder.state().round > 0) return;
  std::int64_t round = 0;
  try {
    while (was_used(round)) ++round;
  } catch (const StoreError&) {
    return;  // what follows will tell
  }
  if (round > 0) core.holder.begin_at(round);
}

/// Its workers' address was told, or somebody came to its exit barrier: in a store that came up
/// empty perhaps one who had been in another's.
bool DynamicHandler::was_used(std::int64_t round) {
  const std::string prefix = round_prefix(core_->settings.run_id, round) + "/";
  Store& store = *core_->resources.store;
  return store.check({prefix + "MASTER_ADDR"}) ||
         store.check({prefix + barrier_count(kTerminalState)});
}

std::string DynamicHandler::prefix_of(std::int64_t round) const {
  const bool none = core_->settings.planted.has(Planted::rendezvous_keys_without_round);
  return round_prefix(core_->settings.run_id, none ? 0 : round);
}

/// The store of one round; hardened, nobody who waits there is deaf.
std::shared_ptr<Store> DynamicHandler::round_store(std::int64_t round) {
  HandlerCore& core = *core_;
  auto store = make_prefix_store(prefix_of(round), core.resources.store);
  if (!core.hardened()) return store;
  store = make_retrying_store(core.ports, std::move(store),
                              std::max(core.settings.read_timeout, *outage_limit()),
                              [this] { while_waiting(); });
  // Whoever is waited for in vain is found dead first: that takes longer than a read may.
  store->set_timeout(std::max(store->timeout(), core.settings.timeout.join));
  return store;
}

/// A member that dies before its first heartbeat was due leaves the others waiting for what it
/// would have written, and a store that came up empty for what it has: they meet again
/// instead.
void DynamicHandler::while_waiting() {
  check_signals(core_->ports);
  if (!forming_) return;
  const auto now = [&] { return core_->ports.clock.monotonic_now(); };
  try {
    const GroupState state = group_state();
    // Others may have met anew, done their work and closed the rendezvous meanwhile.
    if (state == GroupState::broken || (state == GroupState::closed && has_lost_a_member())) {
      throw RendezvousGroupLostError("the group lost a member while it was forming");
    }
    if (told_ && has_been_forgotten()) {
      throw RendezvousGroupLostError("the store was emptied while the group was forming");
    }
    heard_ = now();
  } catch (const RendezvousConnectionError&) {
    // Nobody knows. The store is asked again, until the others must have taken this node for dead.
    if (now() - heard_ >= *outage_limit()) {
      throw RendezvousGroupLostError("the store fell silent while the group was forming");
    }
  }
}

void DynamicHandler::group_formed() {
  if (core_->hardened()) confirm_group();
  forming_ = false;
}

/// What has been read in a store that came up empty meanwhile may be what another group wrote.
void DynamicHandler::confirm_group() {
  core_->holder.forget_cache();
  while_waiting();
}

/// What was told in the round's store is not there any more.
bool DynamicHandler::has_been_forgotten() {
  try {
    return !core_->resources.store->check({prefix_of(joined_->first) + "/MASTER_ADDR"});
  } catch (const StoreError&) {
    return false;  // nobody knows
  }
}

bool DynamicHandler::is_closed() {
  const std::lock_guard lock(core_->heartbeat_lock);
  static_cast<void>(core_->holder.sync());
  return core_->holder.state().closed;
}

std::int64_t DynamicHandler::num_nodes_waiting() {
  const std::lock_guard lock(core_->heartbeat_lock);
  static_cast<void>(core_->holder.sync());
  auto waiting = static_cast<std::int64_t>(core_->holder.state().wait_list.size());
  if (core_->settings.planted.has(Planted::rendezvous_spares_count_as_waiting))
    waiting += static_cast<std::int64_t>(core_->holder.state().redundancy_list.size());
  if (core_->hardened()) waiting = admissible();
  if (std::exchange(waiting_seen_, waiting) != waiting && waiting > 0) {
    trace().emit(events::rendezvous_waiting_seen,
                 {core_->settings.run_id, core_->holder.state().round, waiting});
  }
  return waiting;
}

/// Who would be admitted if the group met again. Nobody beyond the last seat; and of those
/// who waited when this node joined, and have not come along, whoever has given a sign of life
/// since: the dead would make a group meet again and again until they are given up.
std::int64_t DynamicHandler::admissible() const {
  const RendezvousState& state = core_->holder.state();
  const sim::Duration joined_for = core_->ports.clock.monotonic_now() - joined_at_;
  const auto alive = std::count_if(
      state.wait_list.begin(), state.wait_list.end(),
      [&](const NodeRef& node) { return core_->holder.signs()->silence(*node) <= joined_for; });
  const auto seats =
      core_->settings.max_nodes - static_cast<std::int64_t>(state.participants.size());
  return std::clamp<std::int64_t>(alive, 0, std::max<std::int64_t>(seats, 0));
}

std::int64_t DynamicHandler::others_at_work() {
  const std::lock_guard lock(core_->heartbeat_lock);
  static_cast<void>(core_->holder.sync());
  const RendezvousState& state = core_->holder.state();
  if (state.closed) return 0;
  const RendezvousSettings& settings = core_->settings;
  const sim::WallTime dead_before = core_->ports.clock.wall_now() -
                                    settings.keep_alive_interval * settings.keep_alive_max_attempt;
  return std::count_if(state.participants.begin(), state.participants.end(),
                       [&](const Participant& participant) {
                         if (*participant.node == *core_->node) return false;
                         const Heartbeat* const heartbeat = state.heartbeat(participant.node);
                         if (heartbeat == nullptr) return false;
                         // What a sync leaves in a hardened state is alive by what was seen of it.
                         return core_->holder.signs() != nullptr || heartbeat->at > dead_before;
                       });
}

GroupState DynamicHandler::group_state() {
  HandlerCore& core = *core_;
  if (core.settings.variant != Variant::hardened || !joined_) return GroupState::whole;
  const std::lock_guard lock(core.heartbeat_lock);
  static_cast<void>(core.holder.sync());
  const bool forgotten =
      core.holder.signs()->silence(*core.node) >= 2 * core.settings.keep_alive_interval;
  if (forgotten) {
    static_cast<void>(KeepAlive::tick(core));
    if (keep_alive_ != nullptr) keep_alive_->dismiss();
    keep_alive_ = KeepAlive::start(core_);
  }
  const RendezvousState& state = core.holder.state();
  if (state.closed) return GroupState::closed;
  if (state.round == joined_->first && state.participant(core.node) == nullptr) {
    trace().emit(events::mark, {marks::kSelfEvicted});
  }
  return has_lost_a_member() ? GroupState::broken : GroupState::whole;
}

/// By the state that is known: it may be this node itself, or have been replaced.
bool DynamicHandler::has_lost_a_member() const {
  const RendezvousState& state = core_->holder.state();
  return state.round != joined_->first || state.participant(core_->node) == nullptr ||
         static_cast<std::int64_t>(state.participants.size()) < joined_->second || one_is_new();
}

bool DynamicHandler::round_is_taken() {
  HandlerCore& core = *core_;
  if (!core.hardened() || !joined_) return false;
  const std::lock_guard lock(core.heartbeat_lock);
  core.holder.forget_cache();
  static_cast<void>(core.holder.sync());
  return core.holder.state().round == joined_->first && one_is_new();
}

Successor DynamicHandler::successor() {
  if (!core_->hardened() || !joined_) return Successor::none;
  const std::lock_guard lock(core_->heartbeat_lock);
  try {
    static_cast<void>(core_->holder.sync());
  } catch (const RendezvousError&) {
    // What was known before is known still.
  }
  const RendezvousState& state = core_->holder.state();
  // In a store that came up empty the others' round may have this one's number, or a lower one.
  const bool is_later = state.round > joined_->first || one_is_new();
  if (!is_later || state.participant(core_->node) != nullptr) return Successor::none;
  return state.complete ? Successor::complete : Successor::begun;
}

/// In a store that came up empty a member's successor may have its seat.
bool DynamicHandler::one_is_new() const {
  const auto& now = core_->holder.state().participants;
  const auto same = [](const Participant& a, const Participant& b) { return a.node == b.node; };
  if (std::equal(members_.begin(), members_.end(), now.begin(), now.end(), same)) return false;
  return std::any_of(now.begin(), now.end(), [&](const Participant& present) {
    return std::none_of(members_.begin(), members_.end(),
                        [&](const Participant& member) { return same(member, present); });
  });
}

std::vector<std::int64_t> DynamicHandler::missing_ranks() {
  std::vector<std::int64_t> missing;
  const RendezvousState& state = core_->holder.state();
  auto next = state.participants.begin();  // who is left is in the old order, as a rule
  for (const Participant& member : members_) {
    const bool is_next = next != state.participants.end() && next->node == member.node;
    if (is_next) ++next;
    if (!is_next && state.participant(member.node) == nullptr) missing.push_back(member.rank);
  }
  return missing;
}

std::optional<NodeDesc> DynamicHandler::first_member() const {
  for (const Participant& member : members_) {
    if (member.rank == 0) return *member.node;
  }
  return std::nullopt;
}

std::optional<sim::Duration> DynamicHandler::outage_limit() const {
  const RendezvousSettings& settings = core_->settings;
  if (!core_->hardened()) return std::nullopt;
  return settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
}

bool DynamicHandler::leave() {
  return run_to_leave(&decide_leave, {});
}

/// Stops the heartbeats and does the last thing of this node in its rendezvous. Hardened, a store
/// that fails is asked again for `outage`.
bool DynamicHandler::run_to_leave(Operation operation, sim::Duration outage) {
  core_->ports.fault_point.reach("rendezvous.closing");
  if (keep_alive_ != nullptr) std::exchange(keep_alive_, nullptr)->cancel();
  const sim::Duration timeout = core_->settings.timeout.close;
  if (core_->retrying != nullptr) {
    core_->retrying->outage_limit = outage;
    // Nor may a store that does not answer hold up whoever wants to go: a lost answer, the
    // connection after it and a second answer each take this at most.
    core_->resources.backend->set_read_timeout(timeout / 3);
  }
  try {
    core_->run(operation, core_->ports.clock.monotonic_now() + timeout);
    return true;
  } catch (const RendezvousError& error) {
    trace().emit(events::rendezvous_failed,
                 {core_->settings.run_id, error.class_name(), error.what()});
    return false;
  }
}

/// Agents that poll their rendezvous are heard at least once per keep-alive interval; a client that
/// has been silent for longer than the keep-alive threshold is nobody's any more.
void DynamicHandler::linger() {
  HandlerCore& core = *core_;
  if (!core.hardened() || core.resources.server == nullptr) return;
  if (core.settings.planted.has(Planted::rendezvous_linger_skipped)) return;
  const bool too_long = core.settings.planted.has(Planted::rendezvous_lingers_too_long);
  if (keep_alive_ != nullptr) std::exchange(keep_alive_, nullptr)->cancel();
  core.resources.backend = nullptr;  // this node's own connections
  core.retrying = nullptr;
  core.resources.store = nullptr;
  serve_on(core.ports, *core.resources.server,
           core.settings.keep_alive_interval * core.settings.keep_alive_max_attempt *
               (too_long ? 10 : 1));
}

void DynamicHandler::close() {
  core_->run(&decide_close, core_->ports.clock.monotonic_now() + core_->settings.timeout.close);
}

void DynamicHandler::set_closed() {
  const std::lock_guard lock(core_->heartbeat_lock);
  close();
}

/// Whoever does not close leaves spares waiting for members that have gone. It is tried for as long
/// as nobody can have taken this node for dead and gone on: what comes then is not its to close.
bool DynamicHandler::shutdown() {
  if (core_->settings.planted.has(Planted::rendezvous_shutdown_leaves_open)) return true;
  const sim::Duration not_yet_dead = outage_limit().value_or(sim::Duration());
  return run_to_leave(&decide_close, std::min(not_yet_dead, core_->settings.timeout.close));
}

}  // namespace

std::unique_ptr<RendezvousHandler> make_dynamic_handler(sim::Ports& ports,
                                                        RendezvousResources resources,
                                                        RendezvousSettings settings,
                                                        const std::string& local_addr) {
  if (settings.run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  if (settings.min_nodes < 1) {
    throw std::invalid_argument("the minimum number of nodes (" +
                                std::to_string(settings.min_nodes) + ") must be greater than zero");
  }
  if (settings.max_nodes < settings.min_nodes) {
    throw std::invalid_argument(
        "the maximum number of nodes (" + std::to_string(settings.max_nodes) +
        ") must not be below the minimum (" + std::to_string(settings.min_nodes) + ")");
  }
  const std::string addr = local_addr.empty() ? ports.network.fully_qualified_name() : local_addr;
  return std::make_unique<DynamicHandler>(ports, std::move(resources), std::move(settings), addr);
}

}  // namespace hooke::model
