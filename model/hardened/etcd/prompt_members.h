#pragma once
// The problem: python-etcd waits for a frozen etcd for four read time-outs, longer than the others
// wait for the node that asks, and repeats writes without telling how the first one went.

#include "model/etcd/v2_members.h"

namespace hooke::model {

/// A request has one read time-out, whatever it meets within it. A member that cannot be reached is
/// left for the next one; a write whose outcome is unknown is not repeated but told
/// (EtcdConnectionError), and a caught signal ends a wait.
std::unique_ptr<EtcdV2Members> make_prompt_members(sim::Ports& ports, const HttpServer& first);

}  // namespace hooke::model
