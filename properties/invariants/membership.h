#pragma once
// Promises about rounds and who is in them.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// safety.one_world: never two disjoint worker sets of one run that both live on, longer than a
/// dead node may go unnoticed (keep-alive threshold) plus the time its workers are given to stop
/// (30 s).
std::unique_ptr<Invariant> make_one_world();
/// safety.rank_sanity: in a round ranks are unique, below the world size, and all agree on the
/// size.
std::unique_ptr<Invariant> make_rank_sanity();
/// safety.round_monotonic: an agent's rounds only grow.
std::unique_ptr<Invariant> make_round_monotonic();
/// safety.round_isolation: no worker reads a value that another incarnation of the group wrote.
std::unique_ptr<Invariant> make_round_isolation();
/// safety.bounds: a completed round has at least min and at most max participants.
std::unique_ptr<Invariant> make_bounds();
/// safety.closed_is_final: after closing, no round of that store completes.
std::unique_ptr<Invariant> make_closed_is_final();
/// safety.close_authority: nobody closes while another agent of the run still has healthy workers,
/// unless the closer's own group has failed for good.
std::unique_ptr<Invariant> make_close_authority();

}  // namespace hooke::properties
