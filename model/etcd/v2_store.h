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

/// The same keys for hardened agents. What fails is a StoreError (S-L16), a StoreNetworkError where
/// etcd could not be asked. An add is done once although a reply is lost: its number is written
/// with blanks behind it, which Python's int() skips, and which tell whose it is; one that fails is
/// gone on with when it is asked for again. It also compares
/// and sets, for what only hardened agents tell each other; EtcdStore has no such thing.
std::shared_ptr<Store> make_hardened_etcd_v2_store(sim::Ports& ports,
                                                   std::shared_ptr<EtcdV2Client> client,
                                                   const std::string& prefix);

}  // namespace hooke::model
