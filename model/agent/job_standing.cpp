#include "model/agent/job_standing.h"

#include <algorithm>

#include "model/agent/stepping_store.h"
#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "model/store/short_timeout.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// For how long a hardened agent goes on telling a silent store that the job has failed.
constexpr sim::Duration kUntoldMax = std::chrono::seconds(60);
/// For how long an agent that is told to go waits for one answer of the store.
constexpr sim::Duration kGoodbyeReply = std::chrono::seconds(2);

}  // namespace

JobStanding::JobStanding(sim::Ports& ports, const WorkerSpec& spec, RendezvousHandler& handler,
                         const WorkerGroup& group, const RestartPolicy& policy)
    : ports_(ports),
      spec_(spec),
      handler_(handler),
      group_(group),
      policy_(policy),
      remaining_(spec.max_restarts) {}

// ---- restarts -----------------------------------------------------------------------------------

RestartDecision JobStanding::decide(const RunResult& result, std::int64_t restart_count) {
  for (const ProcessFailure& failure : result.failures) {
    if (!failure.stopped) ++attempts_failed_[failure.local_rank];
  }
  // The number that workers are told never passes the one that was configured for them.
  const bool own_left = restart_count < restarts_allowed();
  const std::int64_t remaining = own_left ? remaining_after(restart_count) : 0;
  RestartDecision decision =
      policy_.decide({result.failures, attempts_failed_, restart_count, remaining});
  if (decision.scope != RestartScope::none) {
    HOOKE_CHECK(remaining > 0, "a restart policy grants no more than the budget has");
    if (const auto left = budget().spend(group_.round)) {
      remaining_ = *left;
      return decision;
    }
    decision = {RestartScope::none, {}, ""};
  }
  if (own_left) {
    if (decision.reason.empty()) decision.reason = events::kRestartsSpent;
    ports_.trace.emit(events::restart_refused, {decision.reason, group_.round});
  }
  return decision;
}

std::int64_t JobStanding::remaining_after(std::int64_t restart_count) {
  if (restart_count == 0 && planted(Planted::agent_gives_up_at_first_failure)) return 0;
  if (restart_count == 1 && planted(Planted::agent_gives_up_at_second_failure)) return 0;
  return budget().remaining(group_.round);
}

bool JobStanding::may_restart_for_a_loss() {
  if (planted(Planted::agent_gives_up_at_loss)) return false;
  if (planted(Planted::agent_loss_costs_nothing)) return true;
  const auto left = budget().spend(group_.round);
  if (left) remaining_ = *left;
  return left.has_value();
}

void JobStanding::look_again() {
  if (budget_ != nullptr) budget_->look();
}

void JobStanding::settle() {
  if (budget_ != nullptr) budget_->settle();
}

std::int64_t JobStanding::restarts_allowed() const {
  if (planted(Planted::agent_restart_too_few))
    return std::max<std::int64_t>(spec_.max_restarts - 1, 0);
  return spec_.max_restarts + (planted(Planted::agent_restart_too_many) ? 1 : 0);
}

RestartBudget& JobStanding::budget() {
  if (budget_ == nullptr) {
    // A static job has no rounds that would tell whether two agents restart for one failure. Where
    // each agent restarts all its workers for it, its own count is the job's.
    const bool counts_for_all = group_.round >= 0 || policy_.restarts_single_workers();
    const bool job_wide = hardened() && counts_for_all && !planted(Planted::agent_budget_per_agent);
    const std::shared_ptr<Store> store = job_wide ? handler_.job_store() : nullptr;
    budget_ = store == nullptr
                  ? make_own_budget(restarts_allowed())
                  : make_job_budget(restarts_allowed(), make_stepping_store(ports_, store));
  }
  return *budget_;
}

// ---- departures ---------------------------------------------------------------------------------

Departure JobStanding::departure() {
  const std::shared_ptr<Store> store = hardened() ? handler_.job_store() : nullptr;
  return {store == nullptr ? nullptr : make_stepping_store(ports_, store), group_.round};
}

void JobStanding::say_goodbye() {
  if (!hardened() || planted(Planted::agent_goodbye_not_said)) return;
  const std::shared_ptr<Store> store = handler_.job_store();
  if (store == nullptr || !seat_) return;
  const ShortTimeout brief(*store, kGoodbyeReply);
  try {
    Departure(store, seat_->first).tell_of_order(seat_->second);
  } catch (const StoreError&) {
    // The others take this agent for lost.
  }
}

bool JobStanding::follows_a_departure(const std::vector<std::int64_t>& missing) {
  if (planted(Planted::agent_departure_costs_a_restart)) return false;
  const bool lenient = planted(Planted::agent_loss_called_departure) && !missing.empty();
  if (!lenient && !departure().have_all_left(missing)) return false;
  departure().tell_of_following(group_.group_rank);
  return true;
}

bool JobStanding::fails_for_a_departure() try {
  if (planted(Planted::agent_departure_costs_a_restart) || !departure().one_was_ordered())
    return false;
  departure().tell_of_following(group_.group_rank);
  return true;
} catch (const StoreError&) {
  return false;
}

// ---- the end ------------------------------------------------------------------------------------

JobFailure JobStanding::failure() {
  const std::shared_ptr<Store> store = handler_.job_store();
  return JobFailure(store == nullptr ? nullptr : make_stepping_store(ports_, store));
}

bool JobStanding::give_up() {
  ports_.trace.emit(events::job_given_up, {group_.round});
  if (planted(Planted::agent_failure_not_told)) return true;
  return failure().tell(group_.round);
}

/// Where the others take silent members for dead, they need not be told. Elsewhere (static)
/// they would never find out.
void JobStanding::insist_that_it_is_given_up() {
  if (handler_.outage_limit()) return;
  const std::shared_ptr<Store> store = handler_.job_store();
  if (store == nullptr) return;
  JobFailure(make_retrying_store(ports_, store, kUntoldMax, [this] {
    check_signals(ports_);
  })).tell(group_.round);
}

}  // namespace hooke::model
