#pragma once
// Invariants that something happens in bounded time. Each bound is derived from the spans that the
// agents themselves were configured with (`agent.settings`); slack (5 s) covers the polls in
// between. A bound runs only while the agent that owes it has all that it needs (ledger.h); what is
// not due when the run ends is counted as open.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// liveness.loss_detection: after a participant's death the others start a new round or end within
/// keep-alive threshold + monitor interval + slack.
std::unique_ptr<Invariant> make_loss_detection();
/// liveness.formation: while at least min agents are joining, spares among them, and none is a
/// member of a round, a round completes within keep-alive threshold + last call + stop grace (30 s)
/// + slack.
std::unique_ptr<Invariant> make_formation();
/// liveness.free_seat: when a member of a round goes while a spare waits, the spare has a seat
/// within keep-alive threshold + last call + stop grace (30 s) + slack.
std::unique_ptr<Invariant> make_free_seat();
/// liveness.join_timeout: an agent that gets into no round, and is no spare, gives up within join
/// time-out + read time-out + slack.
std::unique_ptr<Invariant> make_join_timeout();
/// liveness.exit: once the job is decided every agent ends within exit barrier + read + close +
/// shutdown grace + slack; so does an agent in the exit barrier.
std::unique_ptr<Invariant> make_exit();
/// liveness.barrier_opens: the exit barrier opens within a reply (10 s) + slack when all agents of
/// the round have come.
std::unique_ptr<Invariant> make_barrier_opens();
/// liveness.restart_stops: an agent that restarts has stopped its workers within stop grace (30 s,
/// or the shutdown grace where that is longer) + slack.
std::unique_ptr<Invariant> make_restart_stops();
/// liveness.admission: a node on the wait list is in a round, a spare, or gone within keep-alive
/// threshold + last call + stop grace (30 s) + slack.
std::unique_ptr<Invariant> make_admission();
/// liveness.signals_take_effect: an agent that is told to go (TERM, INT, HUP, QUIT) ends within
/// shutdown grace + close + slack.
std::unique_ptr<Invariant> make_signals_take_effect();
/// liveness.no_livelock: without a new fault, failure or agent, restarts stop: at most 5 rounds
/// complete in a row.
std::unique_ptr<Invariant> make_no_livelock();
/// liveness.blip_tolerance: a disturbance of network or store shorter than the join time-out ends
/// no healthy agent whose store lives.
std::unique_ptr<Invariant> make_blip_tolerance();

}  // namespace hooke::properties
