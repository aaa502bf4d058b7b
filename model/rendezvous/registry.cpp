#include "model/rendezvous/registry.h"

#include <stdexcept>

#include "model/rendezvous/c10d_factory.h"
#include "model/rendezvous/etcd_factory.h"
#include "model/rendezvous/legacy_etcd_factory.h"
#include "model/rendezvous/static_factory.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

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
  HOOKE_CHECK(creator != nullptr, "a backend that is registered can be made");
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
  HOOKE_CHECK(handler != nullptr, "a backend that is registered makes a handler");
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
  registry.add("c10d", make_c10d_handler);
  registry.add("etcd", make_legacy_etcd_handler);
  registry.add("etcd-v2", make_etcd_v2_handler);
  registry.add("etcd-v3", make_etcd_v3_handler);
  registry.add("static", make_static_handler);
  return registry;
}

}  // namespace hooke::model
