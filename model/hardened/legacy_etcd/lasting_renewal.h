#pragma once
// The problem: the first error ends a renewal, silently, and its node works on until the others
// take it for dead (S-L4).

#include "model/rendezvous/legacy_etcd/renewal.h"

namespace hooke::model {

/// For LegacyEtcdRenewal, of what only this node writes: a failure is soon tried again, but what is
/// gone stays gone.
std::optional<sim::Duration> renew_while_there(sim::Ports& ports, const std::string& path,
                                               const std::runtime_error& error);

/// Likewise, of what another node may write again when it is gone.
std::optional<sim::Duration> renew_whatever_happens(sim::Ports& ports, const std::string& path,
                                                    const std::runtime_error& error);

}  // namespace hooke::model
