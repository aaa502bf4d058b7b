#include "model/hardened/agent/hardened_membership_watch.h"

#include <utility>

#include "model/rendezvous/core/errors.h"
#include "model/store/store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// How often the store of a job without rounds (static) is asked, which all agents of the job do. Where
/// there are rounds, what was read of them is kept for as long.
constexpr sim::Duration kStaticLook = std::chrono::seconds(1);
/// How often a silent store is told what the others do not know to be spent.
constexpr sim::Duration kUntoldLook = std::chrono::seconds(10);

}  // namespace

void HardenedMembershipWatch::met() {
  was_done_before_ = core_.group.round < 0 && exit_wait_.barrier().has_come();
  if (was_done_before_) leave_what_is_done();
  if (core_.group.round < 0 && job_.has_failed_meanwhile(core_.group.round))
    throw RendezvousClosedError("the job has failed on another node");
}

void HardenedMembershipWatch::formed(sim::MonotonicTime at, bool heard) {
  HOOKE_CHECK(at <= core_.ports.clock.monotonic_now(),
              "the time at which the group was formed is not in the future");
  heard_ = heard ? core_.ports.clock.monotonic_now() : at;
  HOOKE_CHECK(heard_ >= at, "the time of the last news is not before the group was formed");
  silent_ = !heard;
}

/// For so long that the others must have taken this agent for dead.
bool HardenedMembershipWatch::is_cut_off() const {
  HOOKE_CHECK(heard_ <= core_.ports.clock.monotonic_now(),
              "the time of the last news is not in the future");
  const auto limit = core_.handler.outage_limit();
  return limit && silent_ && core_.ports.clock.monotonic_now() - heard_ >= *limit;
}

/// What was not heard is asked once more: an answer that comes now, to an agent that was cut off, may
/// tell of them.
bool HardenedMembershipWatch::is_left_behind() {
  if (core_.handler.successor() == Successor::complete) return true;
  if (!is_cut_off()) return false;
  try {
    static_cast<void>(core_.handler.group_state());
  } catch (const RendezvousConnectionError&) {
    return true;
  }
  return core_.handler.successor() == Successor::complete;
}

const char* HardenedMembershipWatch::cause_to_restart() {
  if (is_cut_off()) return "rendezvous_lost";
  tell_of_the_silence();
  if (!asks_the_others()) return nullptr;
  asked_ = core_.ports.clock.monotonic_now();
  const bool was_silent = std::exchange(silent_, true);
  if (!was_silent) heard_ = asked_;  // what was known before has held until now
  try {
    const char* const cause = cause_if_it_answers();
    silent_ = false;
    heard_ = core_.ports.clock.monotonic_now();
    // A store that was away may have come up empty: what was spent is told to it again.
    if (was_silent) static_cast<void>(job_.look());
    return cause;
  } catch (const RendezvousConnectionError&) {
  } catch (const StoreNetworkError&) {
  }
  return nullptr;
}

/// Whether a look needs more than what is known. Where there are no rounds, an agent that came after
/// the work of its rank was done asks at every look: the end is near.
bool HardenedMembershipWatch::asks_the_others() const {
  const sim::MonotonicTime now = core_.ports.clock.monotonic_now();
  HOOKE_CHECK(asked_ <= now, "the time of a look is not before the look before it");
  if (silent_ || was_done_before_) return true;
  return core_.group.round < 0 ? now - asked_ >= kStaticLook : core_.handler.may_have_news();
}

const char* HardenedMembershipWatch::cause_if_it_answers() {
  if (nodes_waiting() > 0) return follow_newcomers();
  const GroupState state = core_.handler.group_state();
  if (state == GroupState::closed && job_.has_failed(core_.group.round)) {
    throw RendezvousClosedError("the job has failed on another node");
  }
  leave_what_is_done();
  if (!looks_for_losses()) return nullptr;
  if (state == GroupState::over) return come_back();
  // Members that have done their work go silent in the exit barrier: no loss. Nor may a
  // closed rendezvous hide one, an agent that has closed it and could not say why.
  const bool incomplete = state == GroupState::broken ||
                          (state == GroupState::closed && !core_.handler.missing_ranks().empty());
  const bool broken =
      incomplete && !exit_wait_.barrier().may_have_seen(core_.handler.missing_ranks());
  return broken ? cause_of_missing_members() : nullptr;
}

const char* HardenedMembershipWatch::cause_of_missing_members() {
  RendezvousHandler& handler = core_.handler;
  // To the agents that are at work again it is this agent that was lost: it comes back as a newcomer.
  if (handler.successor() == Successor::complete) return come_back();
  if (job_.follows_a_departure(handler.missing_ranks())) return "member_left";
  // A member that joins anew is on no list for a moment. Neither a restart that is paid for nor the
  // end of the job is taken back.
  handler.look_anew();
  if (nodes_waiting() > 0) return follow_newcomers();
  if (job_.may_restart_for_a_loss()) return cause_of_loss();
  if (handler.successor() != Successor::none)
    throw RendezvousGroupLostError("the others have gone on, and no restart is left");
  job_.give_up();
  throw RendezvousJobLostError("the group has lost a member, and no restart is left");
}

const char* HardenedMembershipWatch::cause_to_follow() {
  if (core_.handler.successor() != Successor::none) return come_back();
  learn_what_was_paid();
  return MembershipWatch::cause_to_follow();
}

const char* HardenedMembershipWatch::come_back() {
  learn_what_was_paid();
  return "rendezvous_lost";
}

/// One of the others may have paid for the round to come, and be gone with the store before that is
/// formed.
void HardenedMembershipWatch::learn_what_was_paid() {
  static_cast<void>(job_.look());
}

bool HardenedMembershipWatch::is_time_to_tell() const {
  const sim::MonotonicTime now = core_.ports.clock.monotonic_now();
  HOOKE_CHECK(told_ <= now, "the time of the last report is not in the future");
  return now - told_ >= kUntoldLook;
}

void HardenedMembershipWatch::tell_of_the_silence() {
  if (!is_time_to_tell()) return;
  told_ = core_.ports.clock.monotonic_now();
  job_.tell_of_the_silence();
}

AfterBarrier HardenedMembershipWatch::after_barrier(std::string_view how_it_ended) {
  HOOKE_CHECK(!how_it_ended.empty(), "the way in which the barrier ended has a name");
  const bool passed = how_it_ended == "passed";
  if (how_it_ended == "others_return") return AfterBarrier::others_return;
  if (!passed && how_it_ended != "closed") return AfterBarrier::others_went_on;
  const Successor next = core_.handler.successor();
  // Members that have gone back for nodes that wait may still have to begin the round with these.
  const bool may_return = passed && core_.handler.others_wait();
  if (next == Successor::none && !may_return) return AfterBarrier::job_done;
  if (next == Successor::complete || !passed) return AfterBarrier::others_went_on;
  try {
    return exit_wait_.barrier().has_been_left() ? AfterBarrier::others_return
                                                : AfterBarrier::job_done;
  } catch (const StoreError&) {
    return AfterBarrier::others_went_on;  // it is unknown
  }
}

/// Where there are no rounds, two agents may have one rank, and the other one may do the work: once
/// the agents of all ranks have come to the end, the workers here have none left to work with, nor
/// anything to do. Its own rank is asked for first: thousands of agents that ask for all ranks at each
/// look would be too much for their store.
void HardenedMembershipWatch::leave_what_is_done() {
  if (core_.group.round >= 0) return;
  ExitBarrier barrier = exit_wait_.barrier();
  if (!barrier.has_come() || !barrier.have_all_come()) return;
  throw RendezvousGracefulExitError("the job is done: all of its agents have come to its end");
}

}  // namespace hooke::model
