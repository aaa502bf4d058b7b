#include "model/rendezvous/etcd_factory.h"

#include <utility>

#include "model/hardened/etcd/hardened_etcd_v2_backend.h"
#include "model/hardened/etcd/prompt_members.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/backends/etcd_v2_backend.h"

namespace hooke::model {

EtcdV2MembersMaker etcd_v2_members(Variant variant) {
  return variant == Variant::hardened ? &make_prompt_members : &make_python_etcd_members;
}

std::shared_ptr<EtcdV2Client> connect_etcd_v2(sim::Ports& ports,
                                              const RendezvousParameters& parameters) {
  EtcdOptions options = etcd_options(parameters);
  options.v2_members = etcd_v2_members(parameters.variant);
  return connect_etcd<EtcdV2Client>(ports, options);
}

std::unique_ptr<RendezvousBackend> make_etcd_v2_backend(std::shared_ptr<EtcdV2Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted, Variant variant) {
  if (variant == Variant::hardened) {
    return std::make_unique<HardenedEtcdV2Backend>(std::move(client), run_id, planted);
  }
  return std::make_unique<EtcdV2Backend>(std::move(client), run_id, planted);
}

}  // namespace hooke::model
