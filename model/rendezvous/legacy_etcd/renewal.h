#pragma once
// How what a node of the legacy rendezvous keeps in etcd stays alive: renewed when half of its time
// to live is over (etcd_rendezvous.py:EtcdRendezvous.setup_lease_renewal).

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/etcd/v2_client.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// Renews a key's, or a directory's, time to live from a fiber of its own, which may outlive this.
class LegacyEtcdRenewal {
 public:
  struct Of {
    std::string path;
    sim::Duration time_to_live{};  ///< whole seconds
    sim::Duration interval{};      ///< between two renewals
  };
  /// What follows an EtcdError or EtcdConnectionError: the pause until the next attempt; nullopt:
  /// there is none. A function without a state, as the fiber may outlive what it would refer to.
  using AfterError = std::optional<sim::Duration> (*)(sim::Ports& ports, const std::string& path,
                                                      const std::runtime_error& error);
  /// What was to be renewed is not there any more.
  static bool is_gone(const std::runtime_error& error);
  /// The first error ends it, silently, while the node works on (S-L4).
  static std::optional<sim::Duration> ends(sim::Ports& ports, const std::string& path,
                                           const std::runtime_error& error);

  LegacyEtcdRenewal(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, Of what,
                    AfterError after_error = &LegacyEtcdRenewal::ends);
  ~LegacyEtcdRenewal();
  LegacyEtcdRenewal(const LegacyEtcdRenewal&) = delete;
  LegacyEtcdRenewal& operator=(const LegacyEtcdRenewal&) = delete;

 private:
  std::shared_ptr<sim::Flag> stop_;
};

}  // namespace hooke::model
