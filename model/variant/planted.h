#pragma once
// Small mistakes of the kind a maintainer makes, each a switch: a hunter of bugs is judged by how
// many of them it finds. Settings carry the ones that are on to the line that each of them spoils;
// usually that is none. Only simulated agents can be given any. What each one does is said in
// planted_table.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace hooke::model {

/// In the order of planted_defects().
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
  rendezvous_spare_still_waits,
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
  rendezvous_last_call_skipped,
  rendezvous_last_call_endless,
  rendezvous_last_call_extended,
  rendezvous_last_call_by_wall_clock,
  rendezvous_last_call_stays,
  rendezvous_newcomer_takes_seat,
  rendezvous_last_seat_kept,
  rendezvous_spare_waits_for_completion,
  rendezvous_spare_ignores_closed,
  rendezvous_spares_do_not_beat,
  rendezvous_dead_stay_spares,
  rendezvous_dead_keep_forming_seats,
  rendezvous_evicts_itself,
  rendezvous_silence_by_wall_clock,
  rendezvous_silence_by_newest_heartbeat,
  rendezvous_beats_for_all,
  rendezvous_beats_ten_times,
  rendezvous_beats_seldom,
  rendezvous_keep_alive_misread,
  rendezvous_polls_without_pause,
  rendezvous_polls_ten_times,
  rendezvous_polls_seldom,
  rendezvous_join_timeout_from_last_round,
  rendezvous_timeout_closes,
  rendezvous_closed_waited_for,
  rendezvous_refused_write_forced,
  rendezvous_linger_skipped,
  rendezvous_lingers_too_long,
  c10d_everyone_hosts,
  c10d_hosts_when_unreachable,
  c10d_state_reset_at_start,
  bootstrap_built_once,
  bootstrap_second_member_tells,
  bootstrap_loopback,
  bootstrap_port_not_served,
  bootstrap_store_each_round,
  bootstrap_agent_store_always_claimed,
  bootstrap_agent_store_never_claimed,
  etcd_write_without_fence,
  legacy_keep_alive_not_started,
  legacy_last_call_too_soon,
  legacy_final_one_short,
  legacy_last_call_skipped,
  legacy_freed_by_all,
  legacy_renewed_too_late,
  legacy_newcomers_not_seen,
  legacy_retries_without_pause,
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
  agent_role_rank_is_local,
  agent_restart_count_untold,
  agent_old_workers_left_running,
  agent_gives_up_at_first_failure,
  agent_gives_up_at_second_failure,
  agent_restart_too_few,
  agent_attempts_ignored,
  agent_restart_pause_skipped,
  agent_restart_pause_halved,
  agent_restart_pause_doubled,
  agent_gives_up_at_loss,
  agent_loss_costs_nothing,
  agent_newcomer_costs_a_restart,
  agent_second_loss_overlooked,
  agent_loss_called_growth,
  agent_growth_called_loss,
  agent_newcomers_only_after_failure,
  agent_failure_not_told,
  agent_monitors_ten_times,
  agent_monitors_seldom,
  agent_exit_barrier_one_more,
  agent_exit_barrier_of_present,
  agent_exit_barrier_not_waited,
  agent_exit_barrier_half_as_long,
  agent_exit_barrier_twice_as_long,
  agent_exit_barrier_without_pause,
  agent_exit_barrier_counted_twice,
  agent_exit_barrier_left_silently,
  agent_stays_behind,
  agent_ends_before_workers,
  agent_departure_costs_a_restart,
  agent_goodbye_not_said,
  agent_loss_called_departure,
  worker_grace_without_kill,
  worker_ended_ones_signalled,
  worker_death_by_signal_is_success,
  worker_grace_skipped,
  worker_grace_ten_times,
  worker_grace_halved,
  worker_grace_doubled,
  worker_first_one_signalled,
  worker_group_spared,
  worker_killed_is_no_failure,
  worker_last_one_not_watched,
  worker_exit_code_of_a_shell,
  worker_stopped_by_sigterm,
  launcher_exit_code_lost,
  launcher_last_failure_is_cause,
  launcher_lowest_rank_is_cause,
  launcher_local_rank_reported,
  launcher_closed_is_success,
  launcher_sigint_is_success,
  launcher_sigint_is_sigterm,
  launcher_walks_off,
  launcher_deaf_until_workers,
  launcher_closes_at_once,
  launcher_waits_twice_as_long,
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
  timer_expires_late,
  timer_guards_while_stopping,
  heartbeat_deadline_halved,
  heartbeat_loss_overlooked,
  heartbeat_mark_restarts,
  heartbeat_deadline_ten_times,
  heartbeat_interval_is_deadline,
  heartbeat_ended_is_missed,
  heartbeat_loss_told_again,
  heartbeat_lost_for_ever,
};

/// Which of them are on.
class PlantedSet {
 public:
  constexpr PlantedSet() = default;
  constexpr PlantedSet(std::initializer_list<Planted> all) {
    for (const Planted which : all) add(which);
  }
  constexpr void add(Planted which) { words_[word(which)] |= bit(which); }
  [[nodiscard]] constexpr bool has(Planted which) const {
    return (words_[word(which)] & bit(which)) != 0;
  }
  friend constexpr bool operator==(const PlantedSet&, const PlantedSet&) = default;

 private:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t word(Planted which) {
    return static_cast<std::size_t>(which) / kWordBits;
  }
  static constexpr std::uint64_t bit(Planted which) {
    return std::uint64_t{1} << (static_cast<std::size_t>(which) % kWordBits);
  }
  // There is a bit for each.
  std::array<std::uint64_t,
             static_cast<std::size_t>(Planted::heartbeat_lost_for_ever) / kWordBits + 1>
      words_{};
};

}  // namespace hooke::model
