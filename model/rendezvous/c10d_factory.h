#pragma once
// Puts an agent's part in a c10d store together, of the variant and with the mistakes that its
// parameters name.

#include <memory>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Hosts or joins the store; errors as of C10dStoreCreation::create.
C10dStore create_c10d_store(sim::Ports& ports, const RendezvousParameters& parameters);

/// The state in `store`; errors as of C10dBackend.
std::unique_ptr<RendezvousBackend> make_c10d_backend(std::shared_ptr<Store> store,
                                                     const RendezvousParameters& parameters);

/// The "c10d" rendezvous (c10d_rendezvous_backend.py:create_backend).
std::unique_ptr<RendezvousHandler> make_c10d_handler(sim::Ports& ports,
                                                     const RendezvousParameters& parameters);

}  // namespace hooke::model
