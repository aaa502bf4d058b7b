#include "model/agent/membership_watch.h"

#include <utility>

#include "model/rendezvous/core/errors.h"
#include "model/store/store.h"

namespace hooke::model {
namespace {

/// How often it is asked whether the work of this agent has been done by another one.
constexpr sim::Duration kLook = std::chrono::seconds(1);

}  // namespace

MembershipWatch::MembershipWatch(sim::Ports& ports, const WorkerSpec& spec,
                                 RendezvousHandler& handler, const WorkerGroup& group,
                                 const ExitWait& exit_wait, JobStanding& job)
    : ports_(ports),
      spec_(spec),
      handler_(handler),
      group_(group),
      exit_wait_(exit_wait),
      job_(job) {}

void MembershipWatch::met() {
  was_done_before_ = hardened() && group_.round < 0 && exit_wait_.barrier().has_come();
  leave_what_is_done();
}

void MembershipWatch::formed(sim::MonotonicTime at, bool heard) {
  heard_ = heard ? ports_.clock.monotonic_now() : at;
  silent_ = !heard;
}

const char* MembershipWatch::cause_to_restart(Attempt& attempt) {
  const auto limit = handler_.outage_limit();
  if (!limit && !hardened()) return cause_if_it_answers(attempt);
  if (limit && silent_ && ports_.clock.monotonic_now() - heard_ >= *limit) {
    return "rendezvous_lost";
  }
  const bool was_silent = std::exchange(silent_, true);
  try {
    const char* const cause = cause_if_it_answers(attempt);
    silent_ = false;
    heard_ = ports_.clock.monotonic_now();
    // A store that was away may have come up empty: what was spent is told to it again.
    if (was_silent && hardened()) static_cast<void>(job_.look());
    return cause;
  } catch (const RendezvousConnectionError&) {
  } catch (const StoreNetworkError&) {
  }
  return nullptr;
}

const char* MembershipWatch::cause_if_it_answers(Attempt& attempt) {
  if (others_wait(attempt)) {
    if (hardened())
      static_cast<void>(job_.look());  // one of them may have paid, and the store may forget it
    if (planted(Planted::agent_budget_renewed_by_newcomers)) {
      job_.renew();
      attempt.restart_count = 0;
    }
    if (planted(Planted::agent_newcomer_costs_a_restart))
      static_cast<void>(job_.may_restart_for_a_loss());
    return cause_to_follow();
  }
  const GroupState state = handler_.group_state();
  if (state == GroupState::closed && hardened() && job_.has_failed(group_.round)) {
    throw RendezvousClosedError("the job has failed on another node");
  }
  leave_what_is_done();
  if (planted(Planted::agent_loss_overlooked)) return nullptr;
  if (planted(Planted::agent_second_loss_overlooked) && attempt.incarnation > 0) return nullptr;
  if (state == GroupState::over) return "rendezvous_lost";
  // Members that have done their work go silent in the exit barrier: no loss. Nor may a
  // closed rendezvous hide one, an agent that has closed it and could not say why.
  const bool incomplete =
      state == GroupState::broken ||
      (state == GroupState::closed && hardened() && !handler_.missing_ranks().empty());
  const bool broken = incomplete && !exit_wait_.barrier().may_have_seen(handler_.missing_ranks());
  if (!broken) return nullptr;
  // To those who are at work again it is this agent that was lost: it comes back as a newcomer.
  if (handler_.successor() == Successor::complete) return "rendezvous_lost";
  if (hardened() && job_.follows_a_departure(handler_.missing_ranks())) return "member_left";
  if (job_.may_restart_for_a_loss())
    return planted(Planted::agent_loss_called_growth) ? "membership_change" : "member_lost";
  if (handler_.successor() != Successor::none)
    throw RendezvousGroupLostError("the others have gone on, and no restart is left");
  job_.give_up();
  throw RendezvousJobLostError("the group has lost a member, and no restart is left");
}

bool MembershipWatch::others_wait(const Attempt& attempt) {
  const std::int64_t waiting = handler_.num_nodes_waiting();
  if (planted(Planted::agent_lone_newcomer_overlooked)) return waiting > 1;
  if (planted(Planted::agent_newcomers_overlooked_after_failure) && attempt.restart_count > 0)
    return false;
  if (planted(Planted::agent_newcomers_only_after_failure) && attempt.restart_count == 0)
    return false;
  return waiting > 0;
}

const char* MembershipWatch::cause_to_follow() {
  if (handler_.successor() != Successor::none) return "rendezvous_lost";
  return planted(Planted::agent_growth_called_loss) ? "member_lost" : "membership_change";
}

bool MembershipWatch::others_have_gone_on(std::string_view how_barrier_ended) {
  const Successor next = handler_.successor();
  if (next != Successor::begun || how_barrier_ended != "passed") return next != Successor::none;
  try {
    return exit_wait_.barrier().has_been_left();
  } catch (const StoreError&) {
    return true;  // it is unknown
  }
}

/// Where there are no rounds (static), two agents may have one rank, and the other one may do the
/// work: once the agents of all ranks have come to the end, the workers here have none left to work
/// with, nor anything to do. That is looked at as often as an exit barrier is, and at every look by
/// an agent that came after the work of its rank was done.
void MembershipWatch::leave_what_is_done() {
  if (!hardened() || group_.round >= 0) return;
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  if (!was_done_before_ && now - asked_ < kLook) return;
  asked_ = now;
  if (!exit_wait_.barrier().have_all_come()) return;
  throw RendezvousGracefulExitError("the job is done: all of its agents have come to its end");
}

}  // namespace hooke::model
