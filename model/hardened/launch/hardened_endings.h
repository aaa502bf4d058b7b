#pragma once
// The problem: the launcher takes every end of its agent for one of the job. It closes the
// rendezvous of all agents for an error of its own or a keyboard interrupt (L-2, A-10), trips over
// a spare that leaves, counts an unhealthy group as success, tells the agent of success
// whatever the workers did (L-9), has one exit status for all signals (L-4), and lets an error of
// the close mask the failure (L-1). Agents without a run id never meet (L-10).

#include <string>

#include "model/launch/endings/endings.h"

namespace hooke::model {

/// Closes nothing but a job of which the outcome is decided: an agent that is stopped or meets an
/// error of its own says nothing about the other agents.
class HardenedEndings : public Endings {
 public:
  using Endings::Endings;

  /// Torchrun's default.
  [[nodiscard]] std::string run_id() const override { return "none"; }
  void catch_early(WorkerSpec& spec) const override;
  [[nodiscard]] int early_signal_status(sim::Signal signal) const override;
  void tell_returned(Agent&) const override {}
  Ending of_result(const std::optional<RunResult>& result) const override;
  void tell_judged(Agent& agent, bool no_result, const Ending& ending) const override;
  [[nodiscard]] Ending::Parting parting_of_signal(const Agent& agent,
                                                  const SignalException& error) const override;
  void of_error(Ending& ending, Agent& agent, const std::exception& error) const override;
  void look_again(RendezvousHandler& handler, Ending& ending) const override;
  /// A signal that came while the workers were stopped is raised afterwards, and one that interrupts
  /// the leaving begins it anew: the others would take a node that did not leave for a lost one.
  void part(RendezvousHandler& handler, const Ending& ending,
            const ShutdownManner& manner) const override;

 protected:
  [[nodiscard]] const ProcessFailure& root_of(const ProcessFailures& failures) const override;
  [[nodiscard]] int signal_status(sim::Signal signal) const override;
  void on_parting_failed(RendezvousHandler& handler, const std::exception& error) const override;

 private:
  [[nodiscard]] Ending judged(const std::optional<RunResult>& result) const;
};

}  // namespace hooke::model
