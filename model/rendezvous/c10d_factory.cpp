#include "model/rendezvous/c10d_factory.h"

#include <utility>

#include "model/hardened/c10d/hardened_c10d_backend.h"
#include "model/hardened/c10d/hardened_c10d_store.h"
#include "model/planted/planted_c10d.h"
#include "model/rendezvous/dynamic_factory.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

template <class Creation>
C10dStore create(sim::Ports& ports, const RendezvousParameters& parameters) {
  if (parameters.planted == PlantedSet()) return Creation(ports, parameters).create();
  return PlantedC10dStoreCreation<Creation>(ports, parameters).create();
}

template <class Backend>
std::unique_ptr<RendezvousBackend> make(std::shared_ptr<Store> store,
                                        const RendezvousParameters& parameters) {
  if (parameters.planted == PlantedSet())
    return std::make_unique<Backend>(std::move(store), parameters.run_id);
  return std::make_unique<PlantedC10dBackend<Backend>>(parameters.planted, std::move(store),
                                                       parameters.run_id);
}

/// Of a hardened agent, beside that for its state: an agent that waits on the store must not hold
/// heartbeats up.
std::shared_ptr<Store> connection_apart(sim::Ports& ports, const RendezvousParameters& parameters,
                                        const TcpStoreServer* server) {
  RendezvousParameters as_client = parameters;
  HOOKE_CHECK(parameters.variant == Variant::hardened,
              "only a hardened agent has a second connection");
  HOOKE_CHECK(server == nullptr || server->port().value != 0, "a server listens at a port");
  as_client.config["is_host"] = "0";
  as_client.served = nullptr;
  if (server != nullptr)  // which needs no name to find its own
    as_client.endpoint = "localhost:" + std::to_string(server->port().value);
  return create_c10d_store(ports, as_client).store;
}

}  // namespace

C10dStore create_c10d_store(sim::Ports& ports, const RendezvousParameters& parameters) {
  return parameters.variant == Variant::hardened
             ? create<HardenedC10dStoreCreation>(ports, parameters)
             : create<C10dStoreCreation>(ports, parameters);
}

std::unique_ptr<RendezvousBackend> make_c10d_backend(std::shared_ptr<Store> store,
                                                     const RendezvousParameters& parameters) {
  return parameters.variant == Variant::hardened
             ? make<HardenedC10dBackend>(std::move(store), parameters)
             : make<C10dBackend>(std::move(store), parameters);
}

std::unique_ptr<RendezvousHandler> make_c10d_handler(sim::Ports& ports,
                                                     const RendezvousParameters& parameters) {
  RendezvousSettings settings = settings_of_variant(parameters);
  C10dStore made = create_c10d_store(ports, parameters);
  HOOKE_CHECK(made.store != nullptr, "a store that was created is there");
  RendezvousResources resources;
  resources.backend = make_c10d_backend(made.store, parameters);
  resources.store = parameters.variant == Variant::hardened
                        ? connection_apart(ports, parameters, made.server.get())
                        : std::move(made.store);
  HOOKE_CHECK(resources.store != nullptr && resources.backend != nullptr,
              "a handler has a store and a backend");
  resources.server = std::move(made.server);
  return make_dynamic_handler(ports, std::move(resources), std::move(settings),
                              parameters.local_addr);
}

}  // namespace hooke::model
