#pragma once
// Processes that a worker starts and that may outlive it, such as a data loader, or a server of
// metrics that still holds its port when the next incarnation wants it.

#include <optional>

#include "sim/port/ports.h"

namespace hooke::scenario {

/// Starts a child in the process group of the calling worker, which holds `port` when there is one.
/// False when it does not come up. A child that finds its port taken ends at once, with exit code 1.
bool spawn_worker_child(sim::Ports& ports, std::optional<sim::PortNumber> port = std::nullopt);

/// The child's program: does nothing, for ever.
int run_worker_child(sim::Ports& ports);

}  // namespace hooke::scenario
