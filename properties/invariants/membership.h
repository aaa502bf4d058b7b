#pragma once
// Promises about rounds and who is in them.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// safety.one_world: never two disjoint worker sets of one job that both live on, longer than a
/// dead node may go unnoticed (keep-alive threshold + monitor interval + poll).
std::unique_ptr<Invariant> make_one_world();
/// safety.rank_sanity: in a round ranks are unique, below the world size, and all agree on the
/// size.
std::unique_ptr<Invariant> make_rank_sanity();
/// safety.round_monotonic: an agent's rounds only grow.
std::unique_ptr<Invariant> make_round_monotonic();
/// safety.round_isolation: no worker reads a value that another incarnation of the group wrote.
std::unique_ptr<Invariant> make_round_isolation();
/// safety.bounds: a completed round has at least min and at most max participants; a full round of
/// living members does not restart for a surplus node.
std::unique_ptr<Invariant> make_bounds();
/// safety.closed_is_final: after closing, no round of that store completes.
std::unique_ptr<Invariant> make_closed_is_final();
/// safety.eviction: nobody is given up as dead who lives, has work to do, and could give
/// heartbeats.
std::unique_ptr<Invariant> make_eviction();
/// safety.close_authority: nobody closes while another agent of the job works or wants to, unless
/// the job's outcome is decided.
std::unique_ptr<Invariant> make_close_authority();

}  // namespace hooke::properties
