#pragma once
// The settings of a dynamic rendezvous, as an agent was configured.

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/settings.h"

namespace hooke::model {

/// Settings from parameters: join_timeout, last_call_timeout, close_timeout (and, for 2.x,
/// heartbeat_timeout, keep_alive_interval, keep_alive_max_attempt). std::invalid_argument naming
/// the key.
RendezvousSettings dynamic_settings(const RendezvousParameters& parameters);

}  // namespace hooke::model
