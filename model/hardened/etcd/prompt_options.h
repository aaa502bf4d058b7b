#pragma once
// The problem: an agent that waits for etcd is deaf to signals, and longer silent than the
// others wait for it.

#include "model/etcd/v2_client.h"
#include "model/rendezvous/core/settings.h"

namespace hooke::model {

/// Waits for an answer no longer than the others wait for this node, which is no member any more if
/// it has not heard by then. A caught signal ends the wait. Reads go by quorum.
EtcdOptions prompt_options(EtcdOptions options, const RendezvousSettings& settings);

}  // namespace hooke::model
