#pragma once
// Small mistakes of the kind a maintainer makes, each a switch: a hunter of bugs is judged by how
// many of them it finds. Settings carry the ones that are on to the line that each of them spoils;
// usually that is none. Only simulated agents can be given any.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace hooke::model {

/// In the order of kPlanted, which says what each one does.
enum class Planted : unsigned char {
  rendezvous_seat_too_many,
  rendezvous_seat_too_few,
  rendezvous_last_call_late,
  rendezvous_closed_ignored,
  rendezvous_dead_keep_seats,
  rendezvous_dead_keep_waiting,
  rendezvous_joiners_do_not_beat,
  rendezvous_rank_skipped,
  rendezvous_round_stays,
  rendezvous_stays_on_wait_list,
  rendezvous_surplus_waits,
  rendezvous_spare_stays,
  rendezvous_joining_without_heartbeat,
  rendezvous_leaving_believed,
  rendezvous_lost_write_believed,
  rendezvous_write_without_compare,
  rendezvous_retries_end,
  rendezvous_world_size_is_maximum,
  rendezvous_keep_alive_not_restarted,
  rendezvous_patience_of_one_interval,
  rendezvous_patience_too_long,
  rendezvous_spares_count_as_waiting,
  rendezvous_deaf_while_joining,
  rendezvous_shutdown_leaves_open,
  rendezvous_join_never_times_out,
  rendezvous_keys_without_round,
  bootstrap_built_once,
  etcd_write_without_fence,
  legacy_keep_alive_not_started,
  legacy_last_call_too_soon,
  agent_restart_not_counted,
  agent_restart_too_many,
  agent_budget_renewed_by_newcomers,
  agent_budget_per_agent,
  agent_lone_newcomer_overlooked,
  agent_newcomers_overlooked_after_failure,
  agent_loss_overlooked,
  agent_exit_barrier_one_short,
  agent_exit_barrier_of_workers,
  agent_worker_ranks_reversed,
  agent_old_workers_left_running,
  worker_grace_without_kill,
  worker_ended_ones_signalled,
  worker_death_by_signal_is_success,
  launcher_exit_code_lost,
  launcher_last_failure_is_cause,
  store_add_answers_old,
  store_wakes_for_any_key,
  store_wakes_one_waiter,
  store_compare_ignored,
  store_multi_set_drops_last,
  store_waits_for_ever,
  timer_release_ignored,
  timer_expires_early,
  timer_scope_shared,
  timer_move_ignored,
  timer_expiry_overlooked,
  timer_clears_all_workers,
  heartbeat_deadline_halved,
  heartbeat_loss_overlooked,
  heartbeat_mark_restarts,
};

/// One mistake as scenarios know it.
struct PlantedDefect {
  Planted which;
  std::string_view name;
  std::string_view meaning;
};

inline constexpr std::array kPlanted = {
    PlantedDefect{Planted::rendezvous_seat_too_many, "planted.rendezvous.seat_too_many",
                  "A round waits for one node more than the maximum."},
    PlantedDefect{Planted::rendezvous_seat_too_few, "planted.rendezvous.seat_too_few",
                  "One node less than the minimum is enough for a round."},
    PlantedDefect{Planted::rendezvous_last_call_late, "planted.rendezvous.last_call_late",
                  "The last call begins with the node after the one that is enough."},
    PlantedDefect{Planted::rendezvous_closed_ignored, "planted.rendezvous.closed_ignored",
                  "Joiners do not look whether the rendezvous is closed."},
    PlantedDefect{Planted::rendezvous_dead_keep_seats, "planted.rendezvous.dead_keep_seats",
                  "Dead nodes stay among the participants."},
    PlantedDefect{Planted::rendezvous_dead_keep_waiting, "planted.rendezvous.dead_keep_waiting",
                  "Dead nodes stay on the wait list."},
    PlantedDefect{Planted::rendezvous_joiners_do_not_beat, "planted.rendezvous.joiners_do_not_beat",
                  "A node renews its heartbeat only when it is in a round."},
    PlantedDefect{Planted::rendezvous_rank_skipped, "planted.rendezvous.rank_skipped",
                  "Ranks after the first are one too high."},
    PlantedDefect{Planted::rendezvous_round_stays, "planted.rendezvous.round_stays",
                  "The next round has the number of the last one."},
    PlantedDefect{Planted::rendezvous_stays_on_wait_list, "planted.rendezvous.stays_on_wait_list",
                  "A waiting node that becomes a participant stays on the wait list."},
    PlantedDefect{Planted::rendezvous_surplus_waits, "planted.rendezvous.surplus_waits",
                  "A node for which there is no seat waits for one, and is no spare."},
    PlantedDefect{Planted::rendezvous_spare_stays, "planted.rendezvous.spare_stays",
                  "A spare stays one when a seat becomes free."},
    PlantedDefect{Planted::rendezvous_joining_without_heartbeat,
                  "planted.rendezvous.joining_without_heartbeat",
                  "A node that becomes a participant gives no first heartbeat."},
    PlantedDefect{Planted::rendezvous_leaving_believed, "planted.rendezvous.leaving_believed",
                  "Leaving a round counts as done when the write for it was lost."},
    PlantedDefect{Planted::rendezvous_lost_write_believed, "planted.rendezvous.lost_write_believed",
                  "A node takes the state it has offered for the one that is stored."},
    PlantedDefect{Planted::rendezvous_write_without_compare,
                  "planted.rendezvous.write_without_compare",
                  "The state in a TCPStore is written whatever stands there."},
    PlantedDefect{
        Planted::rendezvous_retries_end, "planted.rendezvous.retries_end",
        "A node that has lost the race four times in a row takes what it wanted for done."},
    PlantedDefect{Planted::rendezvous_world_size_is_maximum,
                  "planted.rendezvous.world_size_is_maximum",
                  "The size of a round is taken from the settings."},
    PlantedDefect{Planted::rendezvous_keep_alive_not_restarted,
                  "planted.rendezvous.keep_alive_not_restarted",
                  "The keep-alive runs in a node's first round only."},
    PlantedDefect{Planted::rendezvous_patience_of_one_interval,
                  "planted.rendezvous.patience_of_one_interval",
                  "A node is dead one interval after its last heartbeat."},
    PlantedDefect{Planted::rendezvous_patience_too_long, "planted.rendezvous.patience_too_long",
                  "The number of attempts that make a node dead is applied twice."},
    PlantedDefect{Planted::rendezvous_spares_count_as_waiting,
                  "planted.rendezvous.spares_count_as_waiting",
                  "Members take spares for nodes that want in."},
    PlantedDefect{Planted::rendezvous_deaf_while_joining, "planted.rendezvous.deaf_while_joining",
                  "No signal ends the wait for a round."},
    PlantedDefect{Planted::rendezvous_shutdown_leaves_open,
                  "planted.rendezvous.shutdown_leaves_open",
                  "An agent whose job is over does not close the rendezvous."},
    PlantedDefect{Planted::rendezvous_join_never_times_out,
                  "planted.rendezvous.join_never_times_out",
                  "A node that gets into no round tries on for ever."},
    PlantedDefect{Planted::rendezvous_keys_without_round, "planted.rendezvous.keys_without_round",
                  "All rounds use the keys of the first one."},
    PlantedDefect{Planted::bootstrap_built_once, "planted.bootstrap.built_once",
                  "Where the workers meet is settled in an agent's first round, whoever is rank 0 "
                  "later."},
    PlantedDefect{Planted::etcd_write_without_fence, "planted.etcd.write_without_fence",
                  "The state in etcd is written whatever stands there."},
    PlantedDefect{Planted::legacy_keep_alive_not_started, "planted.legacy.keep_alive_not_started",
                  "Nobody renews a confirmed node's keep-alive key."},
    PlantedDefect{Planted::legacy_last_call_too_soon, "planted.legacy.last_call_too_soon",
                  "The last call begins with one node less than the minimum."},
    PlantedDefect{Planted::agent_restart_not_counted, "planted.agent.restart_not_counted",
                  "Workers are not told of the restarts after failures."},
    PlantedDefect{Planted::agent_restart_too_many, "planted.agent.restart_too_many",
                  "There is one restart more than configured."},
    PlantedDefect{Planted::agent_budget_renewed_by_newcomers,
                  "planted.agent.budget_renewed_by_newcomers",
                  "A restart for a newcomer gives all restarts back."},
    PlantedDefect{Planted::agent_budget_per_agent, "planted.agent.budget_per_agent",
                  "Hardened agents count their restarts each for itself."},
    PlantedDefect{Planted::agent_lone_newcomer_overlooked, "planted.agent.lone_newcomer_overlooked",
                  "One waiting node alone is not let in."},
    PlantedDefect{Planted::agent_newcomers_overlooked_after_failure,
                  "planted.agent.newcomers_overlooked_after_failure",
                  "An agent that has restarted after a failure lets nobody in."},
    PlantedDefect{Planted::agent_loss_overlooked, "planted.agent.loss_overlooked",
                  "Hardened agents do not look for lost members."},
    PlantedDefect{Planted::agent_exit_barrier_one_short, "planted.agent.exit_barrier_one_short",
                  "The exit barrier opens before the last agent has come."},
    PlantedDefect{Planted::agent_exit_barrier_of_workers, "planted.agent.exit_barrier_of_workers",
                  "The exit barrier waits for as many agents as there are workers."},
    PlantedDefect{Planted::agent_worker_ranks_reversed, "planted.agent.worker_ranks_reversed",
                  "Workers are told the ranks of their node from the last one on."},
    PlantedDefect{Planted::agent_old_workers_left_running, "planted.agent.old_workers_left_running",
                  "A restart does not stop the workers of before."},
    PlantedDefect{Planted::worker_grace_without_kill, "planted.worker.grace_without_kill",
                  "Workers that outlive their grace are not killed."},
    PlantedDefect{Planted::worker_ended_ones_signalled, "planted.worker.ended_ones_signalled",
                  "Stopping signals workers that have ended before, too."},
    PlantedDefect{Planted::worker_death_by_signal_is_success,
                  "planted.worker.death_by_signal_is_success",
                  "Only a positive exit code is a failure."},
    PlantedDefect{Planted::launcher_exit_code_lost, "planted.launcher.exit_code_lost",
                  "An agent whose workers failed exits with 0."},
    PlantedDefect{Planted::launcher_last_failure_is_cause, "planted.launcher.last_failure_is_cause",
                  "The failure found last is reported as the cause."},
    PlantedDefect{Planted::store_add_answers_old, "planted.store.add_answers_old",
                  "An addition answers with the number before it."},
    PlantedDefect{Planted::store_wakes_for_any_key, "planted.store.wakes_for_any_key",
                  "A write wakes those who wait for the first key that anybody waits for."},
    PlantedDefect{Planted::store_wakes_one_waiter, "planted.store.wakes_one_waiter",
                  "Of several who wait for a key one is woken."},
    PlantedDefect{Planted::store_compare_ignored, "planted.store.compare_ignored",
                  "A compare-and-set writes whatever it finds."},
    PlantedDefect{Planted::store_multi_set_drops_last, "planted.store.multi_set_drops_last",
                  "The last of several values set at once is lost."},
    PlantedDefect{Planted::store_waits_for_ever, "planted.store.waits_for_ever",
                  "A client's wait has no time-out."},
    PlantedDefect{Planted::timer_release_ignored, "planted.timer.release_ignored",
                  "A timer that has been released stays armed."},
    PlantedDefect{Planted::timer_expires_early, "planted.timer.expires_early",
                  "Timers expire a second before their deadline."},
    PlantedDefect{Planted::timer_scope_shared, "planted.timer.scope_shared",
                  "Timers of one scope are one timer, whoever armed them."},
    PlantedDefect{Planted::timer_move_ignored, "planted.timer.move_ignored",
                  "A timer that is armed keeps its first deadline."},
    PlantedDefect{Planted::timer_expiry_overlooked, "planted.timer.expiry_overlooked",
                  "No timer ever expires."},
    PlantedDefect{Planted::timer_clears_all_workers, "planted.timer.clears_all_workers",
                  "When a worker's timers are done with, so are everybody's."},
    PlantedDefect{Planted::heartbeat_deadline_halved, "planted.heartbeat.deadline_halved",
                  "A worker is lost after half its deadline."},
    PlantedDefect{Planted::heartbeat_loss_overlooked, "planted.heartbeat.loss_overlooked",
                  "Nobody looks for workers that have fallen silent."},
    PlantedDefect{Planted::heartbeat_mark_restarts, "planted.heartbeat.mark_restarts",
                  "A lost worker restarts the group even where it is only to be marked."},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < kPlanted.size(); ++i) {
        if (static_cast<std::size_t>(kPlanted[i].which) != i) return false;
      }
      return true;
    }(),
    "the table has the order of the names");

/// Which of them are on.
class PlantedSet {
 public:
  constexpr PlantedSet() = default;
  constexpr PlantedSet(std::initializer_list<Planted> all) {
    for (const Planted which : all) add(which);
  }
  constexpr void add(Planted which) { bits_ |= bit(which); }
  [[nodiscard]] constexpr bool has(Planted which) const { return (bits_ & bit(which)) != 0; }
  friend constexpr bool operator==(const PlantedSet&, const PlantedSet&) = default;

 private:
  static_assert(kPlanted.size() <= 64, "there is a bit for each");
  static constexpr std::uint64_t bit(Planted which) {
    return std::uint64_t{1} << static_cast<unsigned>(which);
  }
  std::uint64_t bits_ = 0;
};

}  // namespace hooke::model
