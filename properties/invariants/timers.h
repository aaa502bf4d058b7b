#pragma once
// Promises about the timers of workers.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// safety.timer_safety: a timer ends only the worker that armed it, after its deadline, and not
/// once it has been released or moved.
std::unique_ptr<Invariant> make_timer_safety();
/// liveness.timer_expiry: a worker is ended within 5 s of a deadline that it lets pass, while a
/// timer server watches on its machine.
std::unique_ptr<Invariant> make_timer_expiry();

}  // namespace hooke::properties
