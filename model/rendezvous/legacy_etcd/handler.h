#pragma once
// The rendezvous backend "etcd".

#include <memory>

#include "model/etcd/v2_members.h"
#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Reads endpoint (default port 2379) and the configuration timeout (600 s), last_call_timeout
/// (30 s), etcd_prefix, protocol (http or https), cert, key and cacert. std::invalid_argument for a
/// bad configuration; an etcd that does not answer is an EscapedPythonError, as nothing of etcd is
/// ever a rendezvous error here. `members`: how the client deals with the cluster's. A hardened agent waits for an answer no longer than it may be
/// silent itself.
std::unique_ptr<RendezvousHandler> make_legacy_etcd_handler(
    sim::Ports& ports, const RendezvousParameters& parameters,
    EtcdV2MembersMaker members = &make_python_etcd_members);

}  // namespace hooke::model
