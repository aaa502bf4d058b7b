#pragma once
// A store in etcd's v3 key space. PyTorch has none: this is hooke's own, for etcd from 3.6 on,
// which has no v2 tree any more.

#include <memory>
#include <string>

#include "model/etcd/v3_client.h"
#include "model/store/store.h"

namespace hooke::model {

/// Keys are `prefix` + key, values are the bytes themselves; a number that was added to has blanks
/// behind it that tell its writer. Operations survive an unknown outcome by reading again
/// behind a revision fence; one whose outcome cannot be told is a StoreNetworkError that says so.
/// An add that fails is not done yet, and gone on with when it is asked for again.
/// Failures of etcd are StoreNetworkErrors.
std::shared_ptr<Store> make_etcd_v3_store(sim::Ports& ports, std::shared_ptr<EtcdV3Client> client,
                                          const std::string& prefix);

}  // namespace hooke::model
