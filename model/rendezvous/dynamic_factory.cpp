#include "model/rendezvous/dynamic_factory.h"

#include <stdexcept>
#include <utility>

#include "model/hardened/dynamic/hardened_core.h"
#include "model/hardened/dynamic/hardened_dynamic_handler.h"
#include "model/hardened/dynamic/sound_settings.h"
#include "model/planted/planted_bootstrap.h"
#include "model/planted/planted_core.h"
#include "model/planted/planted_decisions.h"
#include "model/planted/planted_dynamic_handler.h"
#include "model/planted/planted_state_holder.h"
#include "model/rendezvous/dynamic/dynamic_handler.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Which of the nodes with one name and process number this is. PyTorch counts handlers, so that
/// containers whose agents are all process 1 of one host name are one node, and a successor takes
/// its predecessor for itself; the hardened variant draws it.
std::int64_t local_id(sim::Ports& ports, Variant variant) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 31U;
  if (variant != Variant::hardened) return ports.processes.next_number();
  const auto drawn = static_cast<std::int64_t>(ports.random.below("rendezvous.local_id", kIds));
  return drawn < NodeDesc::kHandlersMax ? drawn + NodeDesc::kHandlersMax : drawn;
}

template <class Holder>
std::unique_ptr<StateHolder> planted_holder(HandlerCore& core) {
  return std::make_unique<PlantedStateHolder<Holder>>(core.settings.planted, core.ports.clock,
                                                      *core.resources.backend, core.settings,
                                                      *core.decisions, core.node, &core.tracer);
}

std::unique_ptr<Decisions> planted_faithful_decisions(HandlerCore& core) {
  return std::make_unique<PlantedDecisions<Decisions>>(core.settings.planted, core.settings);
}

std::unique_ptr<Decisions> planted_hardened_decisions(HandlerCore& core) {
  return std::make_unique<PlantedHardenedDecisions>(core.settings.planted, core.settings,
                                                    core.ports.clock, *core.node);
}

std::shared_ptr<HardenedCore> make_hardened_core(sim::Ports& ports, RendezvousResources resources,
                                                 RendezvousSettings settings, NodeDesc node) {
  if (settings.planted == PlantedSet()) {
    return std::make_shared<HardenedCore>(ports, std::move(resources), std::move(settings),
                                          std::move(node));
  }
  return std::make_shared<PlantedCore<HardenedCore>>(
      ports, std::move(resources), std::move(settings), std::move(node),
      HandlerCore::Parts{&planted_hardened_decisions, &planted_holder<HardenedStateHolder>});
}

std::shared_ptr<HandlerCore> make_faithful_core(sim::Ports& ports, RendezvousResources resources,
                                                RendezvousSettings settings, NodeDesc node) {
  if (settings.planted == PlantedSet()) {
    return std::make_shared<HandlerCore>(ports, std::move(resources), std::move(settings),
                                         std::move(node));
  }
  return std::make_shared<PlantedCore<HandlerCore>>(
      ports, std::move(resources), std::move(settings), std::move(node),
      HandlerCore::Parts{&planted_faithful_decisions, &planted_holder<StateHolder>});
}

void check(const RendezvousSettings& settings) {
  if (settings.run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  if (settings.min_nodes < 1) {
    throw std::invalid_argument("the minimum number of nodes (" +
                                std::to_string(settings.min_nodes) + ") must be greater than zero");
  }
  if (settings.max_nodes < settings.min_nodes) {
    throw std::invalid_argument(
        "the maximum number of nodes (" + std::to_string(settings.max_nodes) +
        ") must not be below the minimum (" + std::to_string(settings.min_nodes) + ")");
  }
}

}  // namespace

RendezvousSettings settings_of_variant(const RendezvousParameters& parameters) {
  RendezvousSettings settings = dynamic_settings(parameters);
  if (parameters.planted.has(Planted::rendezvous_keep_alive_misread))
    settings.keep_alive_interval *= 2;
  if (parameters.variant == Variant::hardened) refuse_what_cannot_work(settings);
  return settings;
}

std::shared_ptr<HandlerCore> make_dynamic_core(sim::Ports& ports, RendezvousResources resources,
                                               RendezvousSettings settings, NodeDesc node) {
  return settings.variant == Variant::hardened
             ? make_hardened_core(ports, std::move(resources), std::move(settings), std::move(node))
             : make_faithful_core(ports, std::move(resources), std::move(settings),
                                  std::move(node));
}

std::unique_ptr<RendezvousHandler> make_dynamic_handler(sim::Ports& ports,
                                                        RendezvousResources resources,
                                                        RendezvousSettings settings,
                                                        const std::string& local_addr) {
  check(settings);
  const NodeDesc node{local_addr.empty() ? ports.network.fully_qualified_name() : local_addr,
                      ports.processes.self().value, local_id(ports, settings.variant)};
  HOOKE_CHECK(node.pid > 0 && node.local_id >= 0, "a node is a process, and one of its handlers");
  const bool sound = settings.planted == PlantedSet();
  if (settings.variant == Variant::hardened) {
    auto core = make_hardened_core(ports, std::move(resources), std::move(settings), node);
    if (sound) {
      auto bootstrap = std::make_unique<HardenedBootstrap>(ports, node.addr, core->settings);
      return std::make_unique<HardenedDynamicHandler>(std::move(core), std::move(bootstrap));
    }
    auto bootstrap =
        std::make_unique<PlantedBootstrap<HardenedBootstrap>>(ports, node.addr, core->settings);
    return std::make_unique<PlantedHardenedHandler>(std::move(core), std::move(bootstrap));
  }
  auto core = make_faithful_core(ports, std::move(resources), std::move(settings), node);
  if (sound) {
    auto bootstrap = std::make_unique<Bootstrap>(ports, node.addr, core->settings);
    return std::make_unique<DynamicHandler>(std::move(core), std::move(bootstrap));
  }
  auto bootstrap = std::make_unique<PlantedBootstrap<Bootstrap>>(ports, node.addr, core->settings);
  return std::make_unique<PlantedFaithfulHandler>(std::move(core), std::move(bootstrap));
}

}  // namespace hooke::model
