#pragma once
// The built-in invariants, file by file; each is described where it stands. Bounds are derived from
// the spans with which the agents were started, as the world tells them (JobView::give) or, where it
// does not, as the agents do (`agent.settings`); slack (5 s) covers the polls in between.

namespace hooke::properties {

class InvariantRegistry;

/// Two groups of one job.
void add_one_world(InvariantRegistry& registry);
/// The numbers that members and workers are given.
void add_ranks(InvariantRegistry& registry);
/// What workers find in their environment.
void add_environments(InvariantRegistry& registry);
/// Workers that begin to meet.
void add_meeting(InvariantRegistry& registry);
/// Rounds, their closing, and the members that are taken out of them.
void add_rounds(InvariantRegistry& registry);
/// How long a round waits for more members.
void add_last_call(InvariantRegistry& registry);
/// Which processes agents and timers end, and which outlive them.
void add_processes(InvariantRegistry& registry);
/// What a failure or a loss costs.
void add_restarts(InvariantRegistry& registry);
/// What the policies of agents make them wait for.
void add_waits(InvariantRegistry& registry);
/// What a departure costs.
void add_departures(InvariantRegistry& registry);
/// What is named as the cause of an end.
void add_first_cause(InvariantRegistry& registry);
/// Exit codes and errors.
void add_failures(InvariantRegistry& registry);
/// The spans by which agents go.
void add_settings(InvariantRegistry& registry);
/// What agents say of themselves.
void add_claims(InvariantRegistry& registry);
/// Where stores are, for how long, and one order of all reads and writes.
void add_stores(InvariantRegistry& registry);
/// How often agents ask.
void add_polling(InvariantRegistry& registry);
/// Getting into a round.
void add_progress(InvariantRegistry& registry);
/// Seats for nodes that wait.
void add_seats(InvariantRegistry& registry);
/// Getting out.
void add_endings(InvariantRegistry& registry);
/// What an agent hears of the others' failure.
void add_hearing(InvariantRegistry& registry);
/// Workers and agents that are to stop.
void add_stops(InvariantRegistry& registry);
/// Jobs at rest.
void add_steadiness(InvariantRegistry& registry);
/// Heartbeats of workers.
void add_heartbeats(InvariantRegistry& registry);
/// A healed core.
void add_core(InvariantRegistry& registry);

}  // namespace hooke::properties
