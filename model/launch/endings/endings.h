#pragma once
// What each way in which an agent ends means for the rendezvous and for the exit status
// (torch/distributed/launcher/api.py:launch_agent; torch/distributed/run.py for the exit status).

#include <exception>
#include <optional>
#include <string>

#include "model/agent/agent.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/shutdown.h"
#include "model/signals/signal_gate.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Exit status of an agent that has failed.
inline constexpr int kExitFailed = 1;
/// Of Python's death of a keyboard interrupt.
inline constexpr int kExitInterrupted = 130;

struct Ending {
  const char* outcome = "error";
  int exit_code = kExitFailed;
  std::string detail{};
  // What a policy may answer by another run of the job, or by beginning anew in the same one.
  bool job_failed = false;  ///< for all of its agents
  bool comes_back = false;  ///< the others go on without this one
  /// How this agent parts with the rendezvous: closes it for all agents, leaves it as it is, or
  /// only takes itself out.
  enum class Parting : unsigned char { closes, walks_off, leaves } parting = Parting::closes;
  bool others_are_done = false;  ///< see RunResult
};

/// PyTorch's class name of an error, for the trace.
std::string class_of(const std::exception& error);

class Endings {
 public:
  /// Both must outlive it.
  Endings(sim::Ports& ports, const WorkerSpec& spec) : ports_(ports), spec_(spec) {}
  virtual ~Endings() = default;

  /// The run id of an agent that was given none.
  [[nodiscard]] virtual std::string run_id() const;
  /// Before the first rendezvous. PyTorch catches signals from its first worker start on:
  /// before that one ends an agent at once, and leaves on the lists what other agents take for a
  /// node that will come.
  virtual void catch_early(WorkerSpec&) const {}
  /// The exit status after a signal that came before there was a handler to close or leave.
  [[nodiscard]] virtual int early_signal_status(sim::Signal) const { return kExitInterrupted; }

  /// Tells the agent that it has returned, before that is judged.
  virtual void tell_returned(Agent& agent) const;
  /// What the agent returned.
  virtual Ending of_result(const std::optional<RunResult>& result) const;
  /// Tells the agent what has become of that. `no_result`: it returned none.
  virtual void tell_judged(Agent& agent, bool no_result, const Ending& ending) const;
  /// The agent ended by a signal; see parting_of_signal() for the rendezvous.
  virtual Ending of_signal(const Agent& agent, const SignalException& error) const;
  [[nodiscard]] virtual Ending::Parting parting_of_signal(const Agent& agent,
                                                          const SignalException& error) const;
  /// The agent ended by an error: changes `ending` to that, and tells the agent. PyTorch takes any
  /// for one of the job (L-2).
  virtual void of_error(Ending& ending, Agent& agent, const std::exception& error) const;

  /// The last look at the rendezvous before the agent parts with it. StoreError.
  virtual void look_again(RendezvousHandler&, Ending&) const {}
  /// Parts with the rendezvous; where that closes it, in this `manner`. SignalException, and what
  /// manner and handler raise.
  virtual void part(RendezvousHandler& handler, const Ending& ending,
                    const ShutdownManner& manner) const;

 protected:
  /// A SIGINT that is not among the agent's own signals, as before the first worker start, is
  /// Python's keyboard interrupt.
  [[nodiscard]] static bool is_keyboard_interrupt(const Agent& agent, const SignalException& error);
  /// The failure that is taken for the cause of the others; there must be one.
  [[nodiscard]] virtual const ProcessFailure& root_of(const ProcessFailures& failures) const;
  /// The failure that is told as the cause.
  [[nodiscard]] virtual const ProcessFailure& cause_of(const ProcessFailures& failures) const;
  /// By which a failed worker is told.
  [[nodiscard]] virtual std::int64_t rank_of(const ProcessFailure& cause) const;
  /// The exit status after a signal that the agent handles. One for everything does not tell a
  /// scheduler its own preemption from a failure (L-4).
  [[nodiscard]] virtual int signal_status(sim::Signal) const { return kExitFailed; }
  /// Called while `error` is handled, which came of the close or of the leave. PyTorch replaces the
  /// ending by it (L-1).
  virtual void on_parting_failed(RendezvousHandler& handler, const std::exception& error) const;

  sim::Ports& ports_;
  const WorkerSpec& spec_;
};

}  // namespace hooke::model
