#pragma once
// The rendezvous in which everything is given beforehand.

#include <memory>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// The "static" backend: rank and size are given, rank 0 hosts the store
/// (static_tcp_rendezvous.py).
std::unique_ptr<RendezvousHandler> make_static_handler(sim::Ports& ports,
                                                       const RendezvousParameters& parameters);

}  // namespace hooke::model
