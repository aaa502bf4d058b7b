#pragma once
// Puts a node's part in a dynamic rendezvous together, of the variant and with the mistakes that
// its settings name.

#include <memory>
#include <string>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/handler_core.h"

namespace hooke::model {

/// The settings of a dynamic rendezvous. std::invalid_argument naming the key, and for a hardened
/// agent too where no round can form under them.
RendezvousSettings settings_of_variant(const RendezvousParameters& parameters);

/// The core alone, for tests of what stands on it.
std::shared_ptr<HandlerCore> make_dynamic_core(sim::Ports& ports, RendezvousResources resources,
                                               RendezvousSettings settings, NodeDesc node);

/// A handler for one node. Checks run id and limits (std::invalid_argument); no traffic yet.
/// `local_addr` empty: the host's fully qualified name.
std::unique_ptr<RendezvousHandler> make_dynamic_handler(sim::Ports& ports,
                                                        RendezvousResources resources,
                                                        RendezvousSettings settings,
                                                        const std::string& local_addr);

}  // namespace hooke::model
