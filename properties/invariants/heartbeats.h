#pragma once
// Promises about the heartbeats of workers.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// safety.heartbeat_safety: a worker is declared lost only after a deadline without a beat, and its
/// loss ends or restarts workers only where the policy says so.
std::unique_ptr<Invariant> make_heartbeat_safety();
/// liveness.heartbeat_loss_seen: the agent that waits for a worker's beats declares it lost within
/// two looks and 1 s of its deadline, whatever keeps the beats away.
std::unique_ptr<Invariant> make_heartbeat_loss_seen();

}  // namespace hooke::properties
