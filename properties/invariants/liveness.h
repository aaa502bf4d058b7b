#pragma once
// Promises that something happens in bounded time. Each bound is derived from the spans that the
// agents themselves were configured with (`agent.settings`); kSlack covers the polls in between.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// liveness.loss_detection: after a participant's death the others start a new round or end within
/// keep-alive threshold + monitor interval + slack.
std::unique_ptr<Invariant> make_loss_detection();
/// liveness.formation: while at least min agents want to join, none of them wants to for longer
/// than keep-alive threshold + last call + stop grace (30 s) + slack. Judged only when nothing else
/// of the run works.
std::unique_ptr<Invariant> make_formation();
/// liveness.exit: after the job's terminal outcome every agent ends within
/// exit barrier + close + stop grace (30 s) + slack.
std::unique_ptr<Invariant> make_exit();
/// liveness.admission: a node on the wait list of a running job is in a round, a spare, or gone
/// within keep-alive threshold + last call + stop grace (30 s) + slack.
std::unique_ptr<Invariant> make_admission();
/// liveness.signals_take_effect: an agent that is told to go (TERM, INT, HUP, QUIT) ends within
/// shutdown grace (30 s) + close + slack.
std::unique_ptr<Invariant> make_signals_take_effect();
/// liveness.no_livelock: without a new fault, failure or agent, restarts stop: at most 5 rounds
/// complete in a row.
std::unique_ptr<Invariant> make_no_livelock();
/// liveness.blip_tolerance: a store that is away for less than the join time-out, and comes back,
/// ends no agent.
std::unique_ptr<Invariant> make_blip_tolerance();

}  // namespace hooke::properties
