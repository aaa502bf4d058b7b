#pragma once
// Puts an agent's part in etcd together, of the variant and with the mistakes that its parameters
// name.

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/backend.h"

namespace hooke::model {

/// How agents of that variant deal with the members of a cluster.
EtcdV2MembersMaker etcd_v2_members(Variant variant);

/// Of one that only looks: it waits for etcd no longer than it is told to.
EtcdOptions as_onlooker(EtcdOptions options);

/// A client of the cluster at parameters.endpoint; errors as of connect_etcd.
std::shared_ptr<EtcdV2Client> connect_etcd_v2(sim::Ports& ports,
                                              const RendezvousParameters& parameters);
std::shared_ptr<EtcdV3Client> connect_etcd_v3(sim::Ports& ports,
                                              const RendezvousParameters& parameters);

/// The state in a key of the v2 tree. std::invalid_argument for an empty run id.
std::unique_ptr<RendezvousBackend> make_etcd_v2_backend(std::shared_ptr<EtcdV2Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted = {},
                                                        Variant variant = Variant::torch_2_x);
/// The state in a key of the v3 key space; likewise.
std::unique_ptr<RendezvousBackend> make_etcd_v3_backend(sim::Clock& clock,
                                                        std::shared_ptr<EtcdV3Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted = {},
                                                        Variant variant = Variant::torch_2_x);

/// The "etcd-v2" rendezvous (etcd_rendezvous_backend.py:create_backend).
std::unique_ptr<RendezvousHandler> make_etcd_v2_handler(sim::Ports& ports,
                                                        const RendezvousParameters& parameters);
/// The "etcd-v3" rendezvous, which PyTorch has not.
std::unique_ptr<RendezvousHandler> make_etcd_v3_handler(sim::Ports& ports,
                                                        const RendezvousParameters& parameters);

}  // namespace hooke::model
