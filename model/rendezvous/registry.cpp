// Backends by name.
#include <stdexcept>

#include "model/rendezvous/c10d_backend.h"
#include "model/rendezvous/dynamic_handler.h"

namespace hooke::model {
namespace {

std::unique_ptr<RendezvousHandler> create_c10d(sim::Ports& ports,
                                               const RendezvousParameters& parameters) {
  C10dStore made = create_c10d_store(ports, parameters);
  RendezvousResources resources;
  resources.backend = std::make_unique<C10dBackend>(made.store, parameters.run_id);
  resources.store = std::move(made.store);
  resources.server = std::move(made.server);
  return make_dynamic_handler(ports, std::move(resources), dynamic_settings(parameters),
                              parameters.local_addr);
}

}  // namespace

void RendezvousRegistry::add(std::string name, Creator creator) {
  if (name.empty())
    throw std::invalid_argument("the rendezvous backend name must be a non-empty string");
  if (!creators_.emplace(std::move(name), std::move(creator)).second) {
    throw std::invalid_argument("a rendezvous backend of that name is registered already");
  }
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

RendezvousRegistry RendezvousRegistry::with_builtins() {
  RendezvousRegistry registry;
  registry.add("c10d", create_c10d);
  registry.add("static", make_static_handler);
  return registry;
}

}  // namespace hooke::model
