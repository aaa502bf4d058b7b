// What is chosen is made once, to see whether it can be.
#include "model/launch/plugins.h"

#include <stdexcept>

namespace hooke::model {

void Plugins::check(const LaunchConfig& config) const {
  const auto policy = restart_policies.create(config.restart_policy);
  if (policy->restarts_single_workers() && config.rdzv_backend != "static") {
    throw std::invalid_argument("the restart policy \"" + config.restart_policy.name +
                                "\" needs the static rendezvous: with \"" + config.rdzv_backend +
                                "\" a restart is one of the whole job");
  }
}

}  // namespace hooke::model
