#pragma once
// The problem: what fails in PyTorch's store over etcd v2 fails in three classes of errors (S-L16),
// a write without an answer is one that may or may not have been done, and a count that is sent
// again is counted twice.

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/store/store.h"

namespace hooke::model {

/// The same keys and values as make_etcd_v2_store. What fails is a StoreError, a StoreNetworkError
/// where etcd could not be asked. An add is done once although a reply is lost: its number is
/// written with blanks behind it, which Python's int() skips, and which tell whose it is; one that
/// fails is gone on with when it is asked for again. It also compares and sets, for what only
/// hardened agents tell each other; EtcdStore has no such thing.
std::shared_ptr<Store> make_hardened_etcd_v2_store(sim::Ports& ports,
                                                   std::shared_ptr<EtcdV2Client> client,
                                                   const std::string& prefix);

}  // namespace hooke::model
