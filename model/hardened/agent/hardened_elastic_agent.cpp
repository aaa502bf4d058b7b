// In the order of a run: how the group forms, the looks at the others, the ends.
#include "model/hardened/agent/hardened_elastic_agent.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "model/hardened/agent/exit_barrier.h"
#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

HardenedElasticAgent::HardenedElasticAgent(const AgentParts& parts, ElasticAgentKit kit,
                                           JobStanding& job, HardenedMembershipWatch& membership)
    : ElasticAgent(parts, std::move(kit)), job_(job), membership_(membership) {
  HOOKE_CHECK(&job_ == kit_.restarts.get() && &membership_ == kit_.membership.get(),
              "the agent's restarts and membership are the parts of its own kit");
  // Those at work may have begun anew in a store that came up empty.
  handler_.when_waiting([this] { job_.look_again(); });
  // Until the group is formed, the store may go, and those that have restarted may be gone already.
  handler_.when_seated([this](std::int64_t round) { job_.look_from(round); });
  handler_.when_closing_anew([this] { job_.give_up_anew(); });
  handler_.when_abandoned([this](std::int64_t round, Store& store) {
    return job_.has_failed(round) || ExitBarrier(store, 0, 0, kTerminalState).has_been_passed();
  });
  handler_.while_waiting_for_members([this] {
    if (job_.has_failed_meanwhile(kStaticRound))
      throw RendezvousClosedError("the job has failed on another node");
  });
}

void HardenedElasticAgent::shutdown_at_end(sim::Signal signal,
                                           const std::function<void()>& meanwhile) try {
  ElasticAgent::shutdown_at_end(signal, meanwhile);
} catch (const SignalException&) {
  throw;
} catch (const std::exception&) {
  if (context_ != nullptr) context_->close(signal, spec_.grace_at_end(), nullptr);
  throw;
}

void HardenedElasticAgent::stop_for_signal(sim::Signal signal) {
  shutdown_at_end(signal, [this] { job_.say_goodbye(); });
}

// ---- how the group forms ------------------------------------------------------------------------

void HardenedElasticAgent::rendezvous() {
  bool again = false;
  while (!form_group(again)) again = true;
}

/// False when the group lost a member before it was formed, or what it had written when its store
/// came up empty: it is met a second time. So it is when the round's store could not be asked for
/// too long, a slow one say: whether it is gone for good, the rendezvous tells.
bool HardenedElasticAgent::form_group(bool again) try {
  job_.settle();
  ElasticAgent::rendezvous();
  handler_.group_formed();
  const sim::MonotonicTime formed = ports_.clock.monotonic_now();
  HOOKE_CHECK(group_.store != nullptr, "a formed group has a store");
  membership_.formed(formed, job_.look());
  return true;
} catch (const RendezvousGroupLostError&) {
  job_.follows_before_the_start();
  return false;
} catch (const StoreTimeoutError&) {
  if (again) throw;
  return false;
} catch (const StoreNetworkError&) {
  if (!handler_.outage_limit()) throw;  // no agent is missed there, and none met again
  return false;
}

RendezvousInfo HardenedElasticAgent::join_round() {
  RendezvousInfo info = ElasticAgent::join_round();
  job_.has_joined(info.round, info.rank);
  return info;
}

void HardenedElasticAgent::take_place(RendezvousInfo info) {
  ElasticAgent::take_place(std::move(info));
  membership_.met();
}

// ---- the looks at the others --------------------------------------------------------------------

std::optional<RunResult> HardenedElasticAgent::look_at_the_others() {
  HOOKE_CHECK(group_.state == WorkerState::healthy || group_.state == WorkerState::unhealthy,
              "the group's state is HEALTHY or UNHEALTHY when the agent looks at the others");
  reports_.looked(group_.state, job_.remaining());
  const char* cause = nullptr;
  std::exception_ptr over;
  try {
    cause = membership_.cause_to_restart();
  } catch (const RendezvousClosedError&) {
    over = std::current_exception();
  } catch (const RendezvousJobLostError&) {
    over = std::current_exception();
  }
  std::optional<RunResult> result;
  if (over != nullptr) {
    // What has failed here may have been the first of all failures: it is told.
    result = monitor();
    if (!result || !result->failed()) std::rethrow_exception(over);
  }
  check_signals(ports_);
  follow(cause);
  return result;
}

bool HardenedElasticAgent::restart_group(const char* cause, sim::Duration delay) try {
  return ElasticAgent::restart_group(cause, delay);
} catch (const RendezvousClosedError&) {
  enter(WorkerState::failed);
  return false;
}

/// It looks at the job once a second: the others may give that up, and a store that an agent of theirs
/// serves stays as long as it is asked.
void HardenedElasticAgent::sleep_out(sim::Duration delay) {
  constexpr sim::Duration kLook = std::chrono::seconds(1);
  const sim::MonotonicTime end = ports_.clock.monotonic_now() + delay;
  for (sim::MonotonicTime now = end - delay; now < end; now = ports_.clock.monotonic_now()) {
    interruptible_sleep(ports_, std::min(end - now, kLook));
    if (job_.has_failed_meanwhile(group_.round))
      throw RendezvousClosedError("the job has failed on another node");
  }
}

void HardenedElasticAgent::after_stopping() {
  check_signals(ports_);
}

// ---- the ends -----------------------------------------------------------------------------------

bool HardenedElasticAgent::goes_on_after(RunResult& result) {
  HOOKE_CHECK(context_ != nullptr, "a group that has a result has a process context");
  // An agent that cannot be ended holds on to what those started anew would need.
  const bool can_follow = result.failed() && !context_->has_abandoned();
  if (!can_follow) return ElasticAgent::goes_on_after(result);
  const char* cause = nullptr;
  if (job_.fails_for_a_departure()) cause = "member_left";
  // What fails in a round that the others have left costs them no restart. Without one left it is
  // this agent's end all the same. Where the clock stood still, what was read before that seems new.
  handler_.look_anew();
  if (job_.remaining() > 0 && membership_.is_left_behind()) cause = "rendezvous_lost";
  if (cause != nullptr) {
    ++attempt_.incarnation;
    return restart_group(cause, {});
  }
  try {
    return ElasticAgent::goes_on_after(result);
  } catch (const RendezvousClosedError&) {  // in a pause; what has failed here is told
    enter(WorkerState::failed);
    return false;
  }
}

void HardenedElasticAgent::stop_for_good(RunResult& result) {
  HOOKE_CHECK(result.state != WorkerState::succeeded, "the result has not SUCCEEDED");
  result.job_goes_on = handler_.successor() == Successor::complete;
  const bool told = result.job_goes_on || job_.give_up();
  ElasticAgent::stop_for_good(result);
  if (!told) job_.insist_that_it_is_given_up();
}

bool HardenedElasticAgent::finish(RunResult& result) {
  HOOKE_CHECK(result.state == WorkerState::succeeded, "the result has SUCCEEDED");
  const std::string_view how = exit_barrier();
  HOOKE_CHECK(group_.state == WorkerState::succeeded,
              "the group's state is SUCCEEDED until it joins another round");
  const AfterBarrier after = membership_.after_barrier(how);
  result.others_are_done = how == "passed" && after == AfterBarrier::job_done;
  result.job_goes_on = after != AfterBarrier::job_done;
  if (after != AfterBarrier::others_return) return true;
  try {
    follow(membership_.cause_to_follow());
    return false;
  } catch (const RendezvousError&) {
    return true;  // too late for another round: what had been done is done
  }
}

}  // namespace hooke::model
