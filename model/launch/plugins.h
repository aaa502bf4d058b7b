#pragma once
// Everything in an agent that a project may replace, by name.

#include "model/agent/restart_policy.h"
#include "model/launch/launch_agent.h"
#include "model/rendezvous/handler.h"

namespace hooke::model {

struct Plugins {
  RendezvousRegistry rendezvous = RendezvousRegistry::with_builtins();
  RestartPolicyRegistry restart_policies = RestartPolicyRegistry::with_builtins();

  /// std::invalid_argument naming what `config` chooses, when that is not registered, its options
  /// mean nothing, or its parts do not go together.
  void check(const LaunchConfig& config) const;
};

}  // namespace hooke::model
