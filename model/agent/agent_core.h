#pragma once
// What the parts of one agent look at together: its job, its rendezvous, and how its group stands.

#include <cstdint>

#include "model/agent/agent.h"
#include "model/agent/worker_group.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// One start of the workers among those of an agent.
struct Attempt {
  std::int64_t restart_count = 0;  ///< restarts after failures before it
  std::int64_t incarnation = 0;    ///< starts with that count before it
};

/// The agent keeps it up to date; its parts read it.
struct AgentCore {
  /// What is in `parts` outlives it.
  explicit AgentCore(const AgentParts& parts)
      : ports(parts.ports), spec(parts.spec), handler(parts.handler), policy(parts.policy) {}

  sim::Ports& ports;
  const WorkerSpec spec;
  RendezvousHandler& handler;
  const RestartPolicy& policy;
  WorkerGroup group;
  Attempt attempt;  ///< of the workers' present start
};

}  // namespace hooke::model
