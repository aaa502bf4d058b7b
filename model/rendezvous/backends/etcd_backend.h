#pragma once
// How the clients of both etcd APIs reach a cluster.

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Reads endpoint (default port 2379) and the configuration read_timeout (60 s), protocol (http or
/// https), ssl_cert, ssl_cert_key, ca_cert, and hooke's own user and password.
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

/// Where the stores of all rounds lie.
std::string etcd_v2_store_prefix();
std::string etcd_v3_store_prefix();

}  // namespace hooke::model
