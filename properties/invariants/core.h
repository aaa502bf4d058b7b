#pragma once
// What is left to demand once a core of nodes is healed and everything else stays broken for good:
// that the core ends its job. Other liveness invariants ask for single steps; this one asks whether
// the steps lead anywhere.

#include <memory>
#include <string_view>

#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"

namespace hooke::properties {

/// How long agents that have met wait for each other's ranks: as long as their store does, which no
/// event says.
sim::Duration wait_for_ranks(std::string_view backend, const Timeouts& with);

/// How long the agents of a healed core have to end once nothing befalls them any more: to notice
/// what is lost and stop their workers, to meet, to work, and to part. `work`: for one run of the
/// workers, and the wait for a lost peer.
sim::Duration core_bound(std::string_view backend, const Timeouts& with, sim::Duration work);

/// liveness.core: every agent on a node of a healed core ends within core_bound of the healing.
/// The span begins anew when an agent starts or ends, comes to a round for the first time, or is
/// held up; when a worker fails, which the budget of restarts bounds; and when an agent outside of
/// the core comes, goes or is given up. It is put off only for the reasons of core_excuses.h, each
/// of them proved on the state at the end of the span.
std::unique_ptr<Invariant> make_core();

}  // namespace hooke::properties
