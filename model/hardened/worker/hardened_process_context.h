#pragma once
// The problem: workers outlive their agent. Those of an agent that dies run on, as do those
// that were started before one that cannot be and what a worker leaves behind; a
// second signal ends the wait for them. An error file that cannot be read ends the agent
// and a worker that cannot die is forgotten after the grace.

#include <string>

#include "model/worker/process_context.h"

namespace hooke::model {

/// Waits for whatever SIGKILL ends, however long that takes. A worker that is asleep in the kernel
/// after 30 s is left behind: see has_abandoned().
class HardenedProcessContext : public ProcessContext {
 public:
  using ProcessContext::ProcessContext;

 protected:
  [[nodiscard]] bool die_with_agent() const override { return true; }
  void spawn_all() override;
  void on_ended(const Process& process) override;
  [[nodiscard]] ProcessFailure describe(ProcessFailure failure,
                                        const std::string& error_file) const override;
  void pause(sim::Duration span) override;
  [[nodiscard]] sim::Duration span_to_die(sim::Duration) const override { return kKillGrace; }
  bool waits_on(Process& process, bool asleep) override;
};

}  // namespace hooke::model
