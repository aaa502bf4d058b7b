#include "model/rendezvous/etcd_factory.h"

#include <utility>

#include "model/etcd/v2_store.h"
#include "model/etcd/v3_store.h"
#include "model/hardened/etcd/hardened_etcd_v2_backend.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/hardened/etcd/hardened_etcd_v3_backend.h"
#include "model/hardened/etcd/prompt_members.h"
#include "model/hardened/etcd/prompt_options.h"
#include "model/planted/planted_etcd_backend.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "model/rendezvous/dynamic_factory.h"

namespace hooke::model {
namespace {

EtcdOptions options_of(const RendezvousParameters& parameters) {
  EtcdOptions options = etcd_options(parameters);
  return parameters.variant == Variant::hardened
             ? prompt_options(std::move(options), dynamic_settings(parameters))
             : options;
}

/// `Backend`, or with the mistake that there is for it `Unfenced`.
template <class Backend, class Unfenced, class... Arguments>
std::unique_ptr<RendezvousBackend> make(PlantedSet planted, Arguments&&... arguments) {
  if (planted.has(Planted::etcd_write_without_fence))
    return std::make_unique<Unfenced>(std::forward<Arguments>(arguments)...);
  return std::make_unique<Backend>(std::forward<Arguments>(arguments)...);
}

}  // namespace

EtcdV2MembersMaker etcd_v2_members(Variant variant) {
  return variant == Variant::hardened ? &make_prompt_members : &make_python_etcd_members;
}

EtcdOptions as_onlooker(EtcdOptions options) {
  options.v2_members = &make_prompt_members;
  return options;
}

std::shared_ptr<EtcdV2Client> connect_etcd_v2(sim::Ports& ports,
                                              const RendezvousParameters& parameters) {
  EtcdOptions options = options_of(parameters);
  options.v2_members = etcd_v2_members(parameters.variant);
  return connect_etcd<EtcdV2Client>(ports, options);
}

std::shared_ptr<EtcdV3Client> connect_etcd_v3(sim::Ports& ports,
                                              const RendezvousParameters& parameters) {
  return connect_etcd<EtcdV3Client>(ports, options_of(parameters));
}

std::unique_ptr<RendezvousBackend> make_etcd_v2_backend(std::shared_ptr<EtcdV2Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted, Variant variant) {
  if (variant == Variant::hardened) {
    return make<HardenedEtcdV2Backend, UnfencedEtcdV2Backend<HardenedEtcdV2Backend>>(
        planted, std::move(client), run_id);
  }
  return make<EtcdV2Backend, UnfencedEtcdV2Backend<EtcdV2Backend>>(planted, std::move(client),
                                                                   run_id);
}

std::unique_ptr<RendezvousBackend> make_etcd_v3_backend(sim::Clock& clock,
                                                        std::shared_ptr<EtcdV3Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted, Variant variant) {
  if (variant == Variant::hardened) {
    return make<HardenedEtcdV3Backend, UnfencedEtcdV3Backend<HardenedEtcdV3Backend>>(
        planted, clock, std::move(client), run_id);
  }
  return make<EtcdV3Backend, UnfencedEtcdV3Backend<EtcdV3Backend>>(planted, clock,
                                                                   std::move(client), run_id);
}

std::unique_ptr<RendezvousHandler> make_etcd_v2_handler(sim::Ports& ports,
                                                        const RendezvousParameters& parameters) {
  RendezvousSettings settings = settings_of_variant(parameters);
  auto client = connect_etcd_v2(ports, parameters);
  RendezvousResources resources;
  resources.backend =
      make_etcd_v2_backend(client, parameters.run_id, parameters.planted, parameters.variant);
  resources.job_store = make_hardened_etcd_v2_store(ports, client, etcd_v2_store_prefix());
  resources.store = parameters.variant == Variant::hardened
                        ? resources.job_store
                        : make_etcd_v2_store(ports, std::move(client), etcd_v2_store_prefix());
  return make_dynamic_handler(ports, std::move(resources), std::move(settings),
                              parameters.local_addr);
}

std::unique_ptr<RendezvousHandler> make_etcd_v3_handler(sim::Ports& ports,
                                                        const RendezvousParameters& parameters) {
  RendezvousSettings settings = settings_of_variant(parameters);
  auto client = connect_etcd_v3(ports, parameters);
  RendezvousResources resources;
  resources.backend = make_etcd_v3_backend(ports.clock, client, parameters.run_id,
                                           parameters.planted, parameters.variant);
  resources.store = make_etcd_v3_store(ports, std::move(client), etcd_v3_store_prefix());
  return make_dynamic_handler(ports, std::move(resources), std::move(settings),
                              parameters.local_addr);
}

}  // namespace hooke::model
