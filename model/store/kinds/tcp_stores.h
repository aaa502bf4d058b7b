#pragma once
// PyTorch's TCPStore, or what mends it: the options say which.

#include <memory>
#include <string>

#include "model/store/tcp_store.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// Binds `port` (0: ephemeral) on the interfaces that the limits name. `purpose` is for the trace
/// ("rendezvous", "workers"). A client that goes beyond `limits` loses its connection. Throws
/// StoreNetworkError when the port is taken.
std::unique_ptr<TcpStoreServer> serve_tcp_store(sim::Ports& ports, sim::PortNumber port,
                                                const std::string& purpose, PlantedSet planted = {},
                                                TcpStoreLimits limits = {});

/// Connects a client: resolve, connect, VALIDATE and PING where the wire format has them. Throws
/// StoreNetworkError. What it does is in TcpStoreClient, and with options.variant `hardened` in
/// HardenedTcpStoreClient.
std::shared_ptr<Store> connect_tcp_store(sim::Ports& ports, const TcpStoreOptions& options,
                                         PlantedSet planted = {});

}  // namespace hooke::model
