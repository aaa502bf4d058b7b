#pragma once
// The built-in invariants, file by file; each is described where it stands. Bounds are derived from
// the spans with which the agents themselves were configured (`agent.settings`); slack (5 s) covers
// the polls in between.

namespace hooke::properties {

class InvariantRegistry;

/// Two groups of one job.
void add_one_world(InvariantRegistry& registry);
/// The numbers that members and workers are given.
void add_ranks(InvariantRegistry& registry);
/// Rounds, their closing, and the members that are taken out of them.
void add_rounds(InvariantRegistry& registry);
/// Which processes agents signal, and which outlive them.
void add_process_family(InvariantRegistry& registry);
/// What a failure costs, what is named as its cause, and what exit codes say.
void add_failures(InvariantRegistry& registry);
/// The middle one of these.
void add_first_cause(InvariantRegistry& registry);
/// Agents that give up with restarts left.
void add_giving_up(InvariantRegistry& registry);
/// What it costs a job that a member is told to go.
void add_polite_departure(InvariantRegistry& registry);
/// What agents say of themselves.
void add_claims(InvariantRegistry& registry);
/// Where stores are, and for how long.
void add_stores(InvariantRegistry& registry);
/// One order of all reads and writes.
void add_linearizability(InvariantRegistry& registry);
/// How often agents ask.
void add_polling(InvariantRegistry& registry);
/// Getting into a round.
void add_progress(InvariantRegistry& registry);
/// Seats that become free.
void add_free_seat(InvariantRegistry& registry);
/// Rounds that stay open for others.
void add_last_call(InvariantRegistry& registry);
/// Getting out.
void add_endings(InvariantRegistry& registry);
/// Jobs at rest.
void add_steadiness(InvariantRegistry& registry);
/// Timers of workers.
void add_timers(InvariantRegistry& registry);
/// Heartbeats of workers.
void add_heartbeats(InvariantRegistry& registry);
/// A healed core.
void add_core(InvariantRegistry& registry);

}  // namespace hooke::properties
