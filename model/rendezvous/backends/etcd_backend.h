#pragma once
// How the clients of both etcd APIs reach a cluster, and the shared state in one key of the v3 key
// space, which is hooke's own.

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/backend.h"

namespace hooke::model {

/// Reads endpoint (default port 2379) and the configuration read_timeout (60 s), protocol (http or
/// https), ssl_cert, ssl_cert_key, ca_cert, and hooke's own user and password. A hardened agent
/// waits for an answer no longer than the others wait for it.
/// std::invalid_argument naming what is wrong.
EtcdOptions etcd_options(const RendezvousParameters& parameters);

/// A client of the cluster. RendezvousConnectionError when no member answers.
template <class Client>
std::shared_ptr<Client> connect_etcd(sim::Ports& ports, const EtcdOptions& options) {
  try {
    return std::make_shared<Client>(ports, options);
  } catch (const EtcdError& error) {
    throw RendezvousConnectionError(error.what());
  } catch (const EtcdConnectionError& error) {
    throw RendezvousConnectionError(error.what());
  }
}

/// "etcd-v3": the token is the revision of the last change, and the key hangs on a lease of two
/// hours that each write renews. A write whose outcome is unknown is looked up by reading again. A
/// key that has vanished is written anew, unless hardened: then nothing is written, and the caller
/// is told so (nullopt), for what is to be given back is not this backend's to know. Hardened, a
/// write is done only where the bytes also are those that stood under the token: an etcd that has
/// lost its data counts anew, and may have come to the same number with another's state.
std::unique_ptr<RendezvousBackend> make_etcd_v3_backend(sim::Clock& clock,
                                                        std::shared_ptr<EtcdV3Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted = {},
                                                        Variant variant = Variant::torch_2_x);

/// Where the stores of all rounds lie.
std::string etcd_v2_store_prefix();
std::string etcd_v3_store_prefix();

}  // namespace hooke::model
