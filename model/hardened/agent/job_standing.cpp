// Restarts first, then departures, then the end of the job.
#include "model/hardened/agent/job_standing.h"

#include "model/hardened/agent/job_budget.h"
#include "model/observe/restart_events.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "model/store/short_timeout.h"
#include "model/store/stepping_store.h"

namespace hooke::model {
namespace {

/// For how long an agent goes on telling a silent store that the job has failed.
constexpr sim::Duration kUntoldMax = std::chrono::seconds(60);
/// For how long an agent that is told to go waits for one answer of the store.
constexpr sim::Duration kGoodbyeReply = std::chrono::seconds(2);

}  // namespace

/// A static job has no rounds that would tell whether two agents restart for one failure. Where
/// each agent restarts all its workers for it, its own count is the job's.
bool JobStanding::counts_for_the_job() const {
  return meets_in_rounds_ || core_.group.round >= 0 || core_.policy.restarts_single_workers();
}

std::unique_ptr<RestartBudget> JobStanding::make_budget() const {
  const std::shared_ptr<Store> store = counts_for_the_job() ? core_.handler.job_store() : nullptr;
  if (store == nullptr) return Restarts::make_budget();
  constexpr std::uint64_t kMarks = 1'000'000'000'000;
  const std::string mark =
      core_.policy.restarts_single_workers()
          ? std::to_string(core_.ports.random.below("agent.restart_mark", kMarks))
          : "";
  return make_job_budget(allowed(), make_stepping_store(core_.ports, store), mark);
}

void JobStanding::look_again() {
  if (budget_ != nullptr) budget_->look();
}

void JobStanding::look_from(std::int64_t round) {
  meets_in_rounds_ = true;
  if (round > 0 || budget_ != nullptr) static_cast<void>(budget().look());
}

void JobStanding::settle() {
  if (budget_ != nullptr) budget_->settle();
}

void JobStanding::tell_of_the_silence() {
  if (budget_ == nullptr || !budget_->has_untold()) return;
  const std::shared_ptr<Store> store = core_.handler.job_store();
  if (store == nullptr) return;
  const ShortTimeout brief(*store, std::chrono::seconds(1));
  static_cast<void>(budget_->look());
}

Departure JobStanding::departure() {
  const std::shared_ptr<Store> store = core_.handler.job_store();
  return {store == nullptr ? nullptr : make_stepping_store(core_.ports, store), core_.group.round};
}

void JobStanding::say_goodbye() {
  const std::shared_ptr<Store> store = core_.handler.job_store();
  if (store == nullptr || !seat_) return;
  const ShortTimeout brief(*store, kGoodbyeReply);
  try {
    Departure(store, seat_->first).tell_of_order(seat_->second);
  } catch (const StoreError&) {
    // The others take this agent for lost.
  }
}

bool JobStanding::have_said_goodbye(const std::vector<std::int64_t>& ranks) {
  return departure().have_all_left(ranks);
}

bool JobStanding::follows_a_departure(const std::vector<std::int64_t>& missing) {
  if (!have_said_goodbye(missing)) return false;
  departure().tell_of_following(core_.group.group_rank);
  return true;
}

void JobStanding::follows_before_the_start() {
  const std::shared_ptr<Store> store = core_.handler.job_store();
  if (store == nullptr || !seat_) return;
  try {
    Departure left(make_stepping_store(core_.ports, store), seat_->first);
    if (left.have_all_left(core_.handler.missing_ranks())) left.tell_of_following(seat_->second);
  } catch (const StoreError&) {
    // The others take this agent for lost.
  }
}

bool JobStanding::fails_for_a_departure() try {
  if (!departure().one_was_ordered()) return false;
  departure().tell_of_following(core_.group.group_rank);
  return true;
} catch (const StoreError&) {
  return false;
}

JobFailure JobStanding::failure() {
  const std::shared_ptr<Store> store = core_.handler.job_store();
  return JobFailure(store == nullptr ? nullptr : make_stepping_store(core_.ports, store));
}

bool JobStanding::has_failed_meanwhile(std::int64_t round) try {
  const std::shared_ptr<Store> store = core_.handler.job_store();
  if (store == nullptr) return false;
  const ShortTimeout short_timeout(*store, std::chrono::seconds(1));
  return JobFailure(make_stepping_store(core_.ports, store)).is_told(round);
} catch (const StoreError&) {
  return false;  // it cannot be known now
}

bool JobStanding::give_up() {
  core_.ports.trace.emit(events::job_given_up, {core_.group.round});
  has_given_up_ = true;
  return tell_failure();
}

void JobStanding::give_up_anew() {
  if (has_given_up_) static_cast<void>(tell_failure());
}

/// Where the others take silent members for dead, they need not be told. Elsewhere (static) they
/// would never find out. Where this process serves the store, it stays as long as they ask, and can
/// tell them when the store answers again.
void JobStanding::insist_that_it_is_given_up() {
  if (core_.handler.outage_limit()) return;
  const std::shared_ptr<Store> store = core_.handler.job_store();
  if (store == nullptr) return;
  const std::int64_t round = core_.group.round;
  JobFailure patient(
      make_retrying_store(core_.ports, store, kUntoldMax, [this] { check_signals(core_.ports); }));
  if (patient.tell(round)) return;
  core_.handler.tell_while_lingering(
      [round](const std::shared_ptr<Store>& job) { return JobFailure(job).tell(round); });
}

}  // namespace hooke::model
