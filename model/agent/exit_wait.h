#pragma once
// The wait of an agent whose workers are done for the other agents of its group
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._exit_barrier).

#include <cstdint>
#include <string_view>

#include "model/agent/agent_core.h"
#include "sim/port/ports.h"

namespace hooke::model {

class ExitWait {
 public:
  /// `core` outlives it.
  explicit ExitWait(AgentCore& core) : core_(core) {}
  virtual ~ExitWait() = default;

  /// How it ended, as the trace has it: "timed_out" and "failed", which are no errors, or what
  /// meet() returns. SignalException.
  std::string_view wait();

 protected:
  /// Waits at the barrier: "passed". StoreError.
  virtual std::string_view meet();
  /// How many agents are waited for.
  [[nodiscard]] virtual std::int64_t size() const;
  /// How long they are waited for.
  [[nodiscard]] virtual sim::Duration longest() const;

  AgentCore& core_;

 private:
  /// "timed_out" and "failed" besides. SignalException.
  std::string_view meet_or_fail();
};

}  // namespace hooke::model
