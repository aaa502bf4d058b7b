#include "model/store/kinds/tcp_stores.h"

#include <utility>

#include "model/hardened/store/hardened_tcp_store_client.h"
#include "model/hardened/store/lasting_connection.h"
#include "model/planted/planted_tcp_store.h"
#include "model/store/tcp_store_client.h"
#include "model/store/tcp_store_service.h"

namespace hooke::model {
namespace {

template <class Client, class Connection>
std::shared_ptr<Store> connect(sim::Ports& ports, const TcpStoreOptions& options,
                               PlantedSet planted) {
  auto connection = std::make_unique<Connection>(ports, options);
  connection->open_first();
  if (planted == PlantedSet()) return std::make_shared<Client>(ports, std::move(connection));
  return std::make_shared<PlantedTcpStoreClient<Client>>(planted, ports, std::move(connection));
}

}  // namespace

std::unique_ptr<TcpStoreServer> serve_tcp_store(sim::Ports& ports, sim::PortNumber port,
                                                const std::string& purpose, PlantedSet planted,
                                                TcpStoreLimits limits) {
  if (planted == PlantedSet())
    return std::make_unique<TcpStoreService>(ports, port, purpose, std::move(limits));
  return std::make_unique<PlantedTcpStoreService>(planted, ports, port, purpose, std::move(limits));
}

std::shared_ptr<Store> connect_tcp_store(sim::Ports& ports, const TcpStoreOptions& options,
                                         PlantedSet planted) {
  return options.variant == Variant::hardened
             ? connect<HardenedTcpStoreClient, LastingTcpStoreConnection>(ports, options, planted)
             : connect<TcpStoreClient, TcpStoreConnection>(ports, options, planted);
}

}  // namespace hooke::model
