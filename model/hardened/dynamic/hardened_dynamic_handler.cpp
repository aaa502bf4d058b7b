#include "model/hardened/dynamic/hardened_dynamic_handler.h"

#include <algorithm>

#include "model/observe/coverage_points.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/core/linger.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using sim::MonotonicTime;

/// No member has left since the round was complete: ranks have no holes.
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

}  // namespace

HardenedDynamicHandler::HardenedDynamicHandler(std::shared_ptr<HardenedCore> core,
                                               std::unique_ptr<HardenedBootstrap> bootstrap)
    : DynamicHandler(core, std::move(bootstrap)), hardened_(*core) {
  hardened_.judgement().when_others_have_formed(
      [this](const RendezvousState& state) { return successor_in(state) == Successor::complete; });
}

void HardenedDynamicHandler::when_waiting(std::function<void()> call) {
  HOOKE_CHECK(call != nullptr, "the callback for a node that waits is not null");
  hardened_.when_waiting = std::move(call);
}

void HardenedDynamicHandler::when_seated(std::function<void(std::int64_t)> call) {
  HOOKE_CHECK(call != nullptr, "the callback for a node with a seat is not null");
  when_seated_ = std::move(call);
}

void HardenedDynamicHandler::enter_round(MonotonicTime deadline) {
  const sim::Duration blip = core_->settings.read_timeout;
  hardened_.retrying->endures = {std::max(blip, *outage_limit()), deadline, blip};
  begin_after_old_rounds();
  joined_.reset();
  beside_.reset();
  was_spare_ = false;
  do {
    core_->run(&Decisions::exit, deadline);
    take_seat(deadline);
    // A round that lost a member since it was complete is no group any more, nor is one that
    // this node has left, which another has written back into a store that came up empty.
  } while (!is_whole(core_->holder->state()) || !hardened_.state().is_new_round() ||
           one_took_part(core_->holder->dead_nodes()));
  hardened_.retrying->endures = {};
  HOOKE_CHECK(joined_at_ <= core_->ports.clock.monotonic_now(),
              "the time at which the round was joined is not in the future");
  forming_ = true;
  told_ = false;
  joined_at_ = heard_ = core_->ports.clock.monotonic_now();
}

/// PyTorch's spare that has seen a free seat and is on its way to it fails when the job is over
/// before it gets there; a spare that has not seen it leaves in peace.
void HardenedDynamicHandler::take_seat(MonotonicTime deadline) try {
  core_->run(&Decisions::join, deadline, core_->settings.timeout.join);
} catch (const RendezvousClosedError&) {
  if (!was_spare_) throw;
  throw RendezvousGracefulExitError(
      "the rendezvous is closed: this node, which was a spare, leaves");
}

void HardenedDynamicHandler::when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) {
  HOOKE_CHECK(was_the_end != nullptr,
              "the callback that says whether the job has ended is not null");
  was_the_end_ = std::move(was_the_end);
  hardened_.when_idle = [this] { leave_with_the_others(); };
}

/// Members whose store fails just when they end cannot close the rendezvous, and spares would wait
/// for them in a round of their own.
void HardenedDynamicHandler::leave_with_the_others() {
  HandlerCore& core = *core_;
  const RendezvousState& state = core.holder->state();
  if (state.is_redundant(core.node)) {
    was_spare_ = true;  // and has the join time-out before it when it is let in
    hardened_.retrying->endures.deadline =
        core.ports.clock.monotonic_now() + core.settings.timeout.join;
  }
  if (state.complete) beside_ = state.round;
  if (state.complete || !beside_ || state.round - 1 != *beside_) return;
  try {
    HOOKE_CHECK(was_the_end_ != nullptr,
                "the callback that says whether the job has ended is not null");
    const auto store = make_prefix_store(prefix_of(*beside_), core.resources.store);
    if (!was_the_end_(*beside_, *store)) return beside_.reset();
  } catch (const StoreError&) {
    return;  // it cannot be known now; it is asked again
  }
  try {
    close();
  } catch (const RendezvousError&) {
    // It was for the others, and those that ask later find out by themselves.
  }
  throw RendezvousGracefulExitError("the job has ended with the members of round " +
                                    std::to_string(*beside_) + ": this spare node leaves");
}

/// The keys of a job's rounds may outlive its state: a job that has none begins with the first
/// round of which nothing is there. The node that writes the first state decides for all.
void HardenedDynamicHandler::begin_after_old_rounds() {
  HandlerCore& core = *core_;
  static_cast<void>(core.holder->sync());
  if (hardened_.state().known() || core.holder->state().round > 0) return;
  std::int64_t round = 0;
  try {
    while (was_used(round)) ++round;
  } catch (const StoreError&) {
    return;  // what follows will tell
  }
  if (round > 0) hardened_.state().begin_at(round);
}

/// Its workers' address was told, or an agent came to its exit barrier: in a store that came up
/// empty perhaps one that had been in another's.
bool HardenedDynamicHandler::was_used(std::int64_t round) {
  HOOKE_CHECK(round >= 0, "the number of a round is not negative");
  HOOKE_CHECK(core_->resources.store != nullptr,
              "the handler has a store when it looks for a round");
  const std::string prefix = round_prefix(core_->settings.run_id, round) + "/";
  Store& store = *core_->resources.store;
  return store.check({prefix + "MASTER_ADDR"}) ||
         store.check({prefix + barrier_count(kTerminalState)});
}

/// No agent that waits in it is deaf.
std::shared_ptr<Store> HardenedDynamicHandler::round_store(std::int64_t round) {
  joined_ = {round, world_size(core_->holder->state())};
  HOOKE_CHECK(joined_->second > 0, "the joined round has at least one participant");
  hardened_.state().begin_at(round_after(round));
  auto store = make_retrying_store(core_->ports, DynamicHandler::round_store(round),
                                   std::max(core_->settings.read_timeout, *outage_limit()), [this] {
                                     require_time_to_form();
                                     while_waiting();
                                     require_time_to_form();
                                   });
  // A member that is waited for in vain is found dead first: that takes longer than a read may.
  store->set_timeout(std::max(store->timeout(), core_->settings.timeout.join));
  return store;
}

void HardenedDynamicHandler::exchange_bootstrap(RendezvousInfo& info) {
  if (when_seated_) when_seated_(info.round);
  auto& bootstrap = static_cast<HardenedBootstrap&>(*bootstrap_);
  bootstrap.expect_first(first_member());
  DynamicHandler::exchange_bootstrap(info);
  told_ = bootstrap.was_told_in_round();
  confirm_group();
}

std::optional<NodeDesc> HardenedDynamicHandler::first_member() const {
  for (const Participant& member : members_) {
    if (member.rank == 0) return *member.node;
  }
  return std::nullopt;
}

/// A member that dies before its first heartbeat was due leaves the others waiting for what it
/// would have written, and a store that came up empty for what it has: they meet again
/// instead.
void HardenedDynamicHandler::while_waiting() {
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
    // It cannot be known now. The store is asked again, until the others must have taken this node
    // for dead.
    if (now() - heard_ >= *outage_limit()) {
      throw RendezvousGroupLostError("the store fell silent while the group was forming");
    }
  }
}

/// Each wait in the round's store ends by itself, but a slow one takes long for every question.
void HardenedDynamicHandler::require_time_to_form() {
  const RendezvousSettings& settings = core_->settings;
  const sim::Duration limit = std::max(settings.timeout.join, settings.read_timeout);
  if (!forming_ || core_->ports.clock.monotonic_now() - joined_at_ < limit) return;
  throw StoreTimeoutError("the group has not formed in time");
}

void HardenedDynamicHandler::group_formed() {
  confirm_group();
  forming_ = false;
}

/// What has been read in a store that came up empty meanwhile may be what another group wrote.
void HardenedDynamicHandler::confirm_group() {
  HOOKE_CHECK(joined_.has_value(), "a round was joined before its group is confirmed");
  core_->holder->forget_cache();
  while_waiting();
}

/// What was told in the round's store is not there any more.
bool HardenedDynamicHandler::has_been_forgotten() {
  HOOKE_CHECK(joined_.has_value(), "has_been_forgotten() is asked only after a round was joined");
  try {
    return !core_->resources.store->check({prefix_of(joined_->first) + "/MASTER_ADDR"});
  } catch (const StoreError&) {
    return false;  // it cannot be known
  }
}

/// The nodes that would be admitted if the group met again. None beyond the last seat; and
/// of those that waited when this node joined, and have not come along, the ones that have given a
/// sign of life since: the dead would make a group meet again and again until they are given up.
std::int64_t HardenedDynamicHandler::count_waiting() const {
  const RendezvousState& state = core_->holder->state();
  const sim::Duration joined_for = core_->ports.clock.monotonic_now() - joined_at_;
  HOOKE_CHECK(joined_for >= sim::Duration::zero(), "the elapsed monotonic time is not negative");
  const auto alive = std::count_if(
      state.wait_list.begin(), state.wait_list.end(),
      [&](const NodeRef& node) { return hardened_.judgement().silence(node) <= joined_for; });
  const auto seats =
      core_->settings.max_nodes - static_cast<std::int64_t>(state.participants.size());
  return std::clamp<std::int64_t>(alive, 0, std::max<std::int64_t>(seats, 0));
}

/// What a sync leaves in the state is alive by what was seen of it.
bool HardenedDynamicHandler::is_alive(const Participant& participant) const {
  return core_->holder->state().heartbeat(participant.node) != nullptr;
}

GroupState HardenedDynamicHandler::group_state() {
  HandlerCore& core = *core_;
  if (!joined_) return GroupState::whole;
  const HeartbeatLock::Held lock(core.heartbeat_lock, core.ports);
  static_cast<void>(core.holder->sync());
  if (is_forgotten()) {
    static_cast<void>(KeepAlive::tick(core));
    if (keep_alive_ != nullptr) keep_alive_->dismiss();
    keep_alive_ = std::make_unique<KeepAlive>(core_);
    keep_alive_->start();
  }
  const RendezvousState& state = core.holder->state();
  if (state.closed) return GroupState::closed;
  if (state.round == joined_->first && state.participant(core.node) == nullptr) {
    trace().emit(events::coverage_point, {coverage::kSelfEvicted});
  }
  return has_lost_a_member() ? GroupState::broken : GroupState::whole;
}

/// In the order in which an agent's look comes to it.
bool HardenedDynamicHandler::may_have_news() {
  if (DynamicHandler::may_have_news() || !joined_) return true;
  return is_forgotten() || core_->holder->state().closed || has_lost_a_member();
}

/// The others have no heartbeat of this node.
bool HardenedDynamicHandler::is_forgotten() const {
  return hardened_.judgement().silence(core_->node) >= 2 * core_->settings.keep_alive_interval;
}

/// By the state that is known: it may be this node itself, or have been replaced.
bool HardenedDynamicHandler::has_lost_a_member() const {
  HOOKE_CHECK(joined_.has_value(), "a round was joined before it can lose a member");
  const RendezvousState& state = core_->holder->state();
  return state.round != joined_->first || state.participant(core_->node) == nullptr ||
         static_cast<std::int64_t>(state.participants.size()) < joined_->second || one_is_new();
}

bool HardenedDynamicHandler::round_is_taken() {
  HandlerCore& core = *core_;
  if (!joined_) return false;
  const HeartbeatLock::Held lock(core.heartbeat_lock, core.ports);
  core.holder->forget_cache();
  static_cast<void>(core.holder->sync());
  return core.holder->state().round == joined_->first && one_is_new();
}

Successor HardenedDynamicHandler::successor() {
  if (!joined_) return Successor::none;
  const HeartbeatLock::Held lock(core_->heartbeat_lock, core_->ports);
  try {
    static_cast<void>(core_->holder->sync());
  } catch (const RendezvousError&) {
    // What was known before is known still.
  }
  return successor_in(core_->holder->state());
}

/// In a store that came up empty the others' round may have this one's number, or a lower one.
Successor HardenedDynamicHandler::successor_in(const RendezvousState& state) const {
  if (!joined_) return Successor::none;
  const bool is_later = state.round > joined_->first || one_is_new();
  if (!is_later || state.participant(core_->node) != nullptr) return Successor::none;
  return state.complete ? Successor::complete : Successor::begun;
}

/// In a store that came up empty a member's successor may have its seat.
bool HardenedDynamicHandler::one_is_new() const {
  const auto& now = core_->holder->state().participants;
  const auto same = [](const Participant& a, const Participant& b) { return a.node == b.node; };
  if (std::equal(members_.begin(), members_.end(), now.begin(), now.end(), same)) return false;
  return std::any_of(now.begin(), now.end(), [&](const Participant& present) {
    return std::none_of(members_.begin(), members_.end(),
                        [&](const Participant& member) { return same(member, present); });
  });
}

std::optional<sim::Duration> HardenedDynamicHandler::outage_limit() const {
  const RendezvousSettings& settings = core_->settings;
  HOOKE_CHECK(settings.keep_alive_max_attempt > 1, "the settings have passed validation");
  return settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
}

bool HardenedDynamicHandler::leave() {
  return run_to_leave_within(static_cast<Operation>(&HardenedDecisions::leave), {});
}

/// A store that fails is asked again for `outage`. Nor may a store that does not answer hold up a
/// node that wants to go: a lost answer, the connection after it and a second answer each take this
/// at most.
bool HardenedDynamicHandler::run_to_leave_within(Operation operation, sim::Duration outage) {
  HOOKE_CHECK(outage >= sim::Duration::zero(),
              "the longest outage that is endured is not negative");
  outage_while_leaving_ = outage;
  return run_to_leave(operation);
}

void HardenedDynamicHandler::before_leaving() {
  if (hardened_.retrying == nullptr) return;
  hardened_.retrying->endures = {outage_while_leaving_};
  core_->resources.backend->set_read_timeout(core_->settings.timeout.close / 3);
}

sim::Duration HardenedDynamicHandler::longest_silence() const {
  return core_->settings.keep_alive_interval * core_->settings.keep_alive_max_attempt;
}

void HardenedDynamicHandler::give_up_own_connections() {
  stop_keep_alive();
  core_->resources.backend = nullptr;
  hardened_.retrying = nullptr;
  core_->resources.store = nullptr;
}

/// Agents that poll their rendezvous are heard at least once per keep-alive interval; a client that
/// has been silent for longer than the keep-alive threshold belongs to no agent any more.
void HardenedDynamicHandler::linger() {
  HOOKE_CHECK(core_->resources.backend != nullptr,
              "the backend is still there: linger() or hand_on() was not called before");
  if (core_->resources.server == nullptr) return;
  give_up_own_connections();
  serve_on(core_->ports, *core_->resources.server, longest_silence());
}

std::shared_ptr<TcpStoreServer> HardenedDynamicHandler::hand_on() {
  HOOKE_CHECK(core_->resources.backend != nullptr,
              "the backend is still there: linger() or hand_on() was not called before");
  if (core_->resources.server == nullptr) return nullptr;
  give_up_own_connections();
  return std::move(core_->resources.server);
}

/// A node that does not close leaves spares waiting for members that have gone. It is tried for as
/// long as no other can have taken this node for dead and gone on: what comes then is not its to
/// close, nor to give back to a store that came up empty. Nothing is tried when that time is over.
/// Behind a slow store they may have gone on before that time, too.
bool HardenedDynamicHandler::shutdown() {
  const sim::Duration left = longest_silence() - hardened_.judgement().silence(core_->node);
  if (left <= sim::Duration::zero()) {
    stop_keep_alive();
    return false;
  }
  return run_to_leave_within(static_cast<Operation>(&HardenedDecisions::close_own),
                             std::min({left, *outage_limit(), core_->settings.timeout.close}));
}

}  // namespace hooke::model
