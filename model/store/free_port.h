#pragma once
// A port for a server that is told its number before it binds it.

#include "sim/port/network.h"

namespace hooke::model {

/// A port that nothing listens on just now, found by binding and closing it: another process may
/// take it before it is used. std::runtime_error when there is none.
sim::PortNumber probe_free_port(sim::Network& network);

}  // namespace hooke::model
