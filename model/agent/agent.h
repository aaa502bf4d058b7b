#pragma once
// What runs a node's part of a job between the launcher above it and the workers below. PyTorch's
// is SimpleElasticAgent; a project may bring another, made from the same parts.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/agent/agent_reports.h"
#include "model/agent/restart_policy.h"
#include "model/agent/worker_group.h"
#include "model/timer/worker_timers.h"
#include "model/worker/process_launcher.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// All of it outlives the agent.
struct AgentParts {
  sim::Ports& ports;
  const WorkerSpec& spec;
  RendezvousHandler& handler;
  Observers& observers;
  const RestartPolicy& policy;
  ProcessLauncher& launcher;
  const TimerKind& timers;
};

class Agent {
 public:
  virtual ~Agent() = default;
  /// Runs until the workers are done or cannot be kept running; nothing of them is left then.
  /// nullopt: this node was not needed any more. SignalException, and whatever rendezvous, store or
  /// launcher raised.
  virtual std::optional<RunResult> run() = 0;
  /// True when `signal` ends the agent orderly. A caught SIGINT that it does not handle is an
  /// interrupt of the launcher, which then closes the rendezvous.
  [[nodiscard]] virtual bool handles(sim::Signal signal) const = 0;
  /// The launcher's last word on it, SUCCEEDED or FAILED; `error`: empty for none.
  virtual void ended(const char* state, const std::string& error) = 0;
};

/// An agent whose options have been read.
struct AgentKind {
  std::function<std::unique_ptr<Agent>(const AgentParts& parts)> make;
};

}  // namespace hooke::model
