#pragma once
// Everything in an agent that a project may replace, by name. A project adds its own to what is
// built in, and gives the whole to what runs scenarios or agents.

#include <optional>
#include <string>
#include <vector>

#include "model/agent/kinds/agent_registry.h"
#include "model/agent/restart_policy.h"
#include "model/launch/launch_agent.h"
#include "model/launch/shutdown_registry.h"
#include "model/rendezvous/registry.h"
#include "model/timer/kinds/timer_registry.h"
#include "model/worker/process_launcher.h"

namespace hooke::model {

/// What of a configuration cannot be had.
struct PluginRefusal {
  std::string option;  ///< of `hooke agent`, without dashes: "restart-policy"
  std::string reason;
};

struct Plugins {
  RendezvousRegistry rendezvous = RendezvousRegistry::with_builtins();
  AgentRegistry agents = AgentRegistry::with_builtins();
  RestartPolicyRegistry restart_policies = RestartPolicyRegistry::with_builtins();
  TimerRegistry timers = TimerRegistry::with_builtins();
  ProcessLauncherRegistry launchers = ProcessLauncherRegistry::with_builtins();
  ShutdownRegistry shutdowns = ShutdownRegistry::with_builtins();
  /// What the project's own parts add to model/observe/coverage_points.h and background_tasks.h: a
  /// scenario that names anything else is refused.
  std::vector<std::string> coverage{};
  std::vector<std::string> background_tasks{};

  /// Whether `config` chooses what is registered, with options that mean something, and parts that
  /// go together.
  [[nodiscard]] std::optional<PluginRefusal> refusal(const LaunchConfig& config) const;
};

/// What a shared library must have to be loaded by `hooke agent --plugin`:
///   extern "C" void hooke_register_plugins_1(hooke::model::Plugins& plugins);
/// It registers the library's parts. The number grows when the interface changes.
inline constexpr const char* kPluginEntryPoint = "hooke_register_plugins_1";

}  // namespace hooke::model
