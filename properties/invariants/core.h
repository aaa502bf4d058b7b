#pragma once
// How long a healed core may take. What is left to demand once a core of nodes is healed and
// everything else stays broken for good: that the core ends its job. Other liveness invariants ask
// for single steps; this one asks whether the steps lead anywhere.

#include <string_view>

#include "properties/invariants/job_view.h"

namespace hooke::properties {

/// How long agents that have met wait for each other's ranks: as long as their store does, which no
/// event says.
sim::Duration wait_for_ranks(std::string_view backend, const Timeouts& with);

/// How long the agents of a healed core have to end once nothing befalls them any more: to notice
/// what is lost and stop their workers, to meet, to work, and to part. `work`: for one run of the
/// workers, and the wait for a lost peer.
sim::Duration core_bound(std::string_view backend, const Timeouts& with, sim::Duration work);

}  // namespace hooke::properties
