// One table; a test compares it with the declarations.
#include "model/observe/event_registry.h"

#include <algorithm>
#include <array>

#include "model/observe/pool_events.h"
#include "model/observe/restart_events.h"
#include "model/observe/shutdown_events.h"
#include "model/observe/timer_events.h"
#include "model/observe/trace_events.h"
#include "model/observe/view_events.h"
#include "model/observe/worker_store_events.h"

namespace hooke::model {
namespace {

constexpr std::array kAll{
    &events::agent_started,        &events::agent_settings,
    &events::agent_finished,       &events::group_state,
    &events::group_restarting,     &events::agent_signalled,
    &events::rendezvous_joining,   &events::rendezvous_completed,
    &events::rendezvous_joined,    &events::rendezvous_failed,
    &events::rendezvous_left,      &events::rendezvous_closed,
    &events::rendezvous_evicted,   &events::rendezvous_added,
    &events::rendezvous_write,     &events::rendezvous_cost,
    &events::rendezvous_exchanged, &events::rendezvous_waiting_seen,
    &events::keep_alive_tick,      &events::keep_alive_died,
    &events::ranks_assigned,       &events::exit_barrier_entered,
    &events::exit_barrier_left,    &events::worker_started,
    &events::worker_ended,         &events::worker_signalled,
    &events::failure_reported,     &events::worker_environment,
    &events::worker_collective,    &events::worker_stale_read,
    &events::store_serving,        &events::timer_acquired,
    &events::timer_released,       &events::timer_expired,
    &events::timer_killed,         &events::watchdog_changed,
    &events::watchdog_failed,      &events::heartbeat_expected,
    &events::heartbeat_received,   &events::heartbeat_lost,
    &events::heartbeat_returned,   &events::heartbeat_refused,
    &events::heartbeat_client,     &events::worker_uninterruptible,
    &events::worker_released,      &events::file_signal_raised,
    &events::file_signal_seen,     &events::store_stopped,
    &events::file_signal_refused,  &events::etcd_misbehaved,
    &events::coverage_point,       &events::restart_delayed,
    &events::restart_refused,      &events::job_given_up,
    &events::worker_restarting,    &events::job_rerun,
    &events::pool_leased,          &events::pool_reclaimed,
    &events::worker_store_asked,   &events::worker_store_answered,
    &events::shutdown_settings,    &events::shutdown_waiting,
    &events::shutdown_waited,      &events::worker_start_failed,
    &events::work_measured,        &events::worker_peer_seen,
    &events::worker_job_seen,      &events::worker_initialized,
};

}  // namespace

const sim::EventType* find_event_type(std::string_view name) {
  const auto found = std::find_if(kAll.begin(), kAll.end(),
                                  [&](const sim::EventType* type) { return type->name == name; });
  return found == kAll.end() ? nullptr : *found;
}

std::vector<const sim::EventType*> all_event_types() {
  return {kAll.begin(), kAll.end()};
}

}  // namespace hooke::model
