#include "model/rendezvous/static_factory.h"

#include "model/hardened/core/hardened_endpoint.h"
#include "model/hardened/static/hardened_static_handler.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/static/static_handler.h"

namespace hooke::model {

std::unique_ptr<RendezvousHandler> make_static_handler(sim::Ports& ports,
                                                       const RendezvousParameters& parameters) {
  if (parameters.variant == Variant::hardened) {
    return std::make_unique<HardenedStaticHandler>(
        ports, static_settings(parameters, parse_unambiguous_endpoint));
  }
  return std::make_unique<StaticHandler>(ports, static_settings(parameters, parse_endpoint));
}

}  // namespace hooke::model
