#pragma once
// The store that PyTorch keeps in etcd's v2 tree (etcd_store.py:EtcdStore).

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/store/store.h"

namespace hooke::model {

/// Keys lie under `prefix` ("/torch/elastic/store"), Base64 as key and as value. Every get and wait
/// lists the whole directory (S-L3). What EtcdStore does not offer, compare_set, append, delete_key
/// and num_keys, is an EscapedPythonError "RuntimeError"; a wait that times out is one of
/// "LookupError" (S-L16), a failure of etcd one of "EtcdException". One difference: a key whose
/// Base64 contains "/" is found again (S-L1).
std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix);

/// The same keys, but it compares and sets, and what fails in check, get and compare_set is a
/// StoreError: for what only hardened agents tell each other, since EtcdStore has no such thing.
std::shared_ptr<Store> make_comparing_etcd_v2_store(sim::Ports& ports,
                                                    std::shared_ptr<EtcdV2Client> client,
                                                    const std::string& prefix);

}  // namespace hooke::model
