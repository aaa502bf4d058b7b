#pragma once
// The problem: a client that waits in a store is deaf to everything else, leaves the store's
// time-out changed behind it (A-19, S-30), and is lost when the store cannot be reached for a
// moment. This view, which PyTorch has not, waits in slices of a second with a time-out of its own.
// Towards the store it is a client like any other.

#include <functional>
#include <memory>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// A view of `store`. Between two slices of a wait, and between two attempts, it calls `between`, and
/// between two slices `in_vain` besides, if there is one; each may end the call by an exception. What
/// may be done twice is tried again while the store
/// cannot be reached, for `outage` at most and no longer than its time-out; StoreNetworkError then.
/// A wait that times out is a StoreTimeoutError with every backend (S-L16). `ports` must outlive the view.
std::shared_ptr<Store> make_retrying_store(sim::Ports& ports, std::shared_ptr<Store> store,
                                           sim::Duration outage, std::function<void()> between,
                                           std::function<void()> in_vain = {});

}  // namespace hooke::model
