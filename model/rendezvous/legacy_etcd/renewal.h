#pragma once
// How what a node of the legacy rendezvous keeps in etcd stays alive: renewed when half of its time
// to live is over (etcd_rendezvous.py:EtcdRendezvous.setup_lease_renewal).

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// Renews a key's, or a directory's, time to live from a fiber of its own, which may outlive this.
/// The first error ends it, silently, while the node works on (S-L4); hardened, only that the key
/// is gone, and that only if no other agent may write it again.
class LegacyEtcdRenewal {
 public:
  struct Of {
    std::string path;
    sim::Duration time_to_live{};  ///< whole seconds
    bool may_come_again = false;   ///< somebody else may write it again
    bool too_late = false;         ///< the planted mistake's: renewed when it has ended
  };
  LegacyEtcdRenewal(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, Of what,
                    Variant variant);
  ~LegacyEtcdRenewal();
  LegacyEtcdRenewal(const LegacyEtcdRenewal&) = delete;
  LegacyEtcdRenewal& operator=(const LegacyEtcdRenewal&) = delete;

 private:
  std::shared_ptr<sim::Flag> stop_;
};

}  // namespace hooke::model
