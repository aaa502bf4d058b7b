// What is chosen is made once, to see whether it can be.
#include "model/launch/plugins.h"

#include <stdexcept>

namespace hooke::model {
namespace {

template <class Product>
std::optional<PluginRefusal> refusal_of(const char* option, const Registry<Product>& registry,
                                        const PluginChoice& choice) {
  try {
    static_cast<void>(registry.create(choice));
    return std::nullopt;
  } catch (const std::exception& error) {
    return PluginRefusal{option, error.what()};
  }
}

}  // namespace

std::optional<PluginRefusal> Plugins::refusal(const LaunchConfig& config) const {
  if (const auto refused = refusal_of("agent-kind", agents, config.agent)) return refused;
  if (const auto refused = refusal_of("timer", timers, config.timer)) return refused;
  if (const auto refused = refusal_of("process-launcher", launchers, config.process_launcher))
    return refused;
  if (const auto refused = refusal_of("shutdown", shutdowns, config.shutdown)) return refused;
  const auto refused = refusal_of("restart-policy", restart_policies, config.restart_policy);
  if (refused) return refused;
  const auto policy = restart_policies.create(config.restart_policy);
  const bool fits = !policy->restarts_single_workers() || config.rdzv_backend == "static";
  if (fits || policy->rejoins()) return std::nullopt;
  return PluginRefusal{"restart-policy",
                       "the restart policy " + quoted_name(config.restart_policy.name) +
                           " needs the static rendezvous: with " +
                           quoted_name(config.rdzv_backend) +
                           " a restart is one of the whole job, unless its workers can rejoin "
                           "those that go on, which the option rejoin=yes says"};
}

}  // namespace hooke::model
