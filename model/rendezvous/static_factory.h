#pragma once
// Makes the static rendezvous of the variant that its parameters name
// (static_tcp_rendezvous.py:create_rdzv_handler).

#include <memory>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// The "static" backend. No traffic yet. std::invalid_argument for a bad configuration.
std::unique_ptr<RendezvousHandler> make_static_handler(sim::Ports& ports,
                                                       const RendezvousParameters& parameters);

}  // namespace hooke::model
