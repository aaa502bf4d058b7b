#include "model/rendezvous/registry.h"

#include <stdexcept>

#include "model/etcd/v2_store.h"
#include "model/etcd/v3_store.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "model/rendezvous/dynamic_factory.h"
#include "model/rendezvous/etcd_factory.h"
#include "model/rendezvous/legacy_etcd_factory.h"
#include "model/rendezvous/static/static_handler.h"

namespace hooke::model {
namespace {

std::unique_ptr<RendezvousHandler> create_c10d(sim::Ports& ports,
                                               const RendezvousParameters& parameters) {
  C10dStore made = create_c10d_store(ports, parameters);
  RendezvousResources resources;
  resources.backend = std::make_unique<C10dBackend>(made.store, parameters.run_id,
                                                    parameters.variant, parameters.planted);
  resources.store = std::move(made.store);
  if (parameters.variant == Variant::hardened) {
    // A connection apart: an agent that waits on the store must not hold heartbeats up.
    RendezvousParameters as_client = parameters;
    as_client.config["is_host"] = "0";
    if (made.server != nullptr)  // which needs no name to find its own
      as_client.endpoint = "localhost:" + std::to_string(made.server->port().value);
    resources.store = create_c10d_store(ports, as_client).store;
  }
  resources.server = std::move(made.server);
  return make_dynamic_handler(ports, std::move(resources), dynamic_settings(parameters),
                              parameters.local_addr);
}

std::unique_ptr<RendezvousHandler> create_etcd_v2(sim::Ports& ports,
                                                  const RendezvousParameters& parameters) {
  auto client = connect_etcd_v2(ports, parameters);
  RendezvousResources resources;
  resources.backend =
      make_etcd_v2_backend(client, parameters.run_id, parameters.planted, parameters.variant);
  resources.job_store = make_hardened_etcd_v2_store(ports, client, etcd_v2_store_prefix());
  resources.store = parameters.variant == Variant::hardened
                        ? resources.job_store
                        : make_etcd_v2_store(ports, std::move(client), etcd_v2_store_prefix());
  return make_dynamic_handler(ports, std::move(resources), dynamic_settings(parameters),
                              parameters.local_addr);
}

std::unique_ptr<RendezvousHandler> create_etcd_v3(sim::Ports& ports,
                                                  const RendezvousParameters& parameters) {
  auto client = connect_etcd<EtcdV3Client>(ports, etcd_options(parameters));
  RendezvousResources resources;
  resources.backend = make_etcd_v3_backend(ports.clock, client, parameters.run_id,
                                           parameters.planted, parameters.variant);
  resources.store = make_etcd_v3_store(ports, std::move(client), etcd_v3_store_prefix());
  return make_dynamic_handler(ports, std::move(resources), dynamic_settings(parameters),
                              parameters.local_addr);
}

/// Plain functions can be compared, other objects that can be called cannot.
bool is_same(const RendezvousRegistry::Creator& one, const RendezvousRegistry::Creator& other) {
  using Function = std::unique_ptr<RendezvousHandler> (*)(sim::Ports&, const RendezvousParameters&);
  const Function* const function = one.target<Function>();
  const Function* const its = other.target<Function>();
  return function != nullptr && its != nullptr && *function == *its;
}

}  // namespace

void RendezvousRegistry::add(std::string name, Creator creator) {
  if (name.empty())
    throw std::invalid_argument("the rendezvous backend name must be a non-empty string");
  const auto found = creators_.find(name);
  if (found != creators_.end() && !is_same(found->second, creator)) {
    throw std::invalid_argument("a rendezvous backend of that name is registered already");
  }
  creators_.insert_or_assign(std::move(name), std::move(creator));
}

std::unique_ptr<RendezvousHandler> RendezvousRegistry::create(
    sim::Ports& ports, const RendezvousParameters& parameters) const {
  parameters.validate();
  const auto found = creators_.find(parameters.backend);
  if (found == creators_.end()) {
    throw std::invalid_argument("the rendezvous backend \"" + parameters.backend +
                                "\" is not registered");
  }
  std::unique_ptr<RendezvousHandler> handler = found->second(ports, parameters);
  if (handler->get_backend() != parameters.backend) {
    throw std::runtime_error("the rendezvous backend \"" + parameters.backend +
                             "\" made a handler for \"" + handler->get_backend() + "\"");
  }
  return handler;
}

std::vector<std::string> RendezvousRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& [name, creator] : creators_) out.push_back(name);
  return out;
}

RendezvousRegistry RendezvousRegistry::with_builtins() {
  RendezvousRegistry registry;
  registry.add("c10d", create_c10d);
  registry.add("etcd", make_legacy_etcd_handler);
  registry.add("etcd-v2", create_etcd_v2);
  registry.add("etcd-v3", create_etcd_v3);
  registry.add("static", make_static_handler);
  return registry;
}

}  // namespace hooke::model
