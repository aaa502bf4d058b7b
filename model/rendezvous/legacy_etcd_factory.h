#pragma once
// Puts a node's part in a legacy rendezvous over etcd together, of the variant and with the
// mistakes that its parameters name (etcd_rendezvous.py:create_rdzv_handler).

#include <memory>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Connects to etcd, and creates the run's directories there. std::invalid_argument for a bad
/// configuration; an etcd that does not answer is an EscapedPythonError, as nothing of etcd is ever
/// a rendezvous error here.
std::unique_ptr<RendezvousHandler> make_legacy_etcd_handler(sim::Ports& ports,
                                                            const RendezvousParameters& parameters);

}  // namespace hooke::model
