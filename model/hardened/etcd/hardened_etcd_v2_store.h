#pragma once
// The problem: what fails in EtcdStore is an error that no agent knows (S-L16), an add whose reply
// was lost is done twice, some keys are never found (S-L1), and one that comes while a wait begins
// is missed (S-L15).

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/store/store.h"

namespace hooke::model {

/// EtcdStore's keys for hardened agents. What fails is a StoreError (S-L16), a StoreNetworkError
/// where etcd could not be asked. An add is done once although a reply is lost: its number is
/// written with blanks behind it, which Python's int() skips, and which tell whose it is; one that
/// fails is gone on with when it is asked for again. It also compares and sets, for what only
/// hardened agents tell each other; EtcdStore has no such thing.
std::shared_ptr<Store> make_hardened_etcd_v2_store(sim::Ports& ports,
                                                   std::shared_ptr<EtcdV2Client> client,
                                                   const std::string& prefix);

}  // namespace hooke::model
