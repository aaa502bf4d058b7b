#pragma once
// The problem: a store that ends with the agent that hosts it is taken from agents that still need
// it.

#include <functional>

#include "model/store/tcp_store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Waits until no agent has asked `server` for anything for `alive`, or a caught signal comes
/// . `meanwhile`, if there is one, is called behind each look at the agents that finds some; it
/// may take a while.
void serve_on(sim::Ports& ports, const TcpStoreServer& server, sim::Duration alive,
              const std::function<void()>& meanwhile = {});

}  // namespace hooke::model
