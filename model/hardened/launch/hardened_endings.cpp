#include "model/hardened/launch/hardened_endings.h"

#include "model/hardened/worker/hardened_failures.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// What a shell adds to a signal's number, and so kExitInterrupted is of SIGINT.
constexpr int kSignalled = 128;
/// After how many signals that interrupt it an agent no longer tries to leave: enough for a
/// scheduler that repeats itself, few for an impatient person.
constexpr int kInterruptionsMax = 2;

/// What has failed is no failure of the job.
void comes_back(Ending& ending) {
  ending.job_failed = false;
  ending.comes_back = true;
}

}  // namespace

void HardenedEndings::catch_early(WorkerSpec& spec) const {
  for (const sim::Signal signal : spec.signals_to_handle)
    static_cast<void>(
        ports_.processes.catch_signal(signal));  // refused ones are told of at the first start
  spec.signals_caught = true;
}

int HardenedEndings::early_signal_status(sim::Signal signal) const {
  return signal_status(signal);
}

Ending HardenedEndings::judged(const std::optional<RunResult>& result) const {
  if (!result) return {"graceful_exit", 0, ""};
  if (result->state == WorkerState::unhealthy) {
    return {"error", kExitFailed, "RuntimeError: a worker is asleep in the kernel (state D)"};
  }
  return Endings::of_result(result);
}

Ending HardenedEndings::of_result(const std::optional<RunResult>& result) const {
  Ending ending = judged(result);
  const bool goes_on = result && result->job_goes_on;
  const bool decided =
      !goes_on && (ending.job_failed || (result && result->state == WorkerState::succeeded));
  ending.parting = decided ? Ending::Parting::closes : Ending::Parting::leaves;
  if (ending.job_failed && goes_on) comes_back(ending);
  return ending;
}

void HardenedEndings::tell_judged(Agent& agent, bool, const Ending& ending) const {
  agent.ended(ending.exit_code == 0 ? "SUCCEEDED" : "FAILED", ending.detail);
}

Ending::Parting HardenedEndings::parting_of_signal(const Agent&, const SignalException&) const {
  return Ending::Parting::leaves;
}

/// An agent with an error of its own does not run the job again beside the others, which go on: two
/// groups would do the same work. One that has found it closed follows those that have closed it.
void HardenedEndings::of_error(Ending& ending, Agent& agent, const std::exception& error) const {
  Endings::of_error(ending, agent, error);
  const bool decided = dynamic_cast<const RendezvousJobLostError*>(&error) != nullptr;
  const bool was_closed = dynamic_cast<const RendezvousClosedError*>(&error) != nullptr;
  ending.parting = decided ? Ending::Parting::closes : Ending::Parting::leaves;
  if (!decided && !was_closed) comes_back(ending);
}

/// To get here takes a while, in which other agents may have gone on.
void HardenedEndings::look_again(RendezvousHandler& handler, Ending& ending) const {
  const bool closes = ending.parting == Ending::Parting::closes;
  if (!closes || handler.successor() != Successor::complete) return;
  ending.parting = Ending::Parting::leaves;
  if (ending.job_failed) comes_back(ending);
}

void HardenedEndings::part(RendezvousHandler& handler, const Ending& ending,
                           const ShutdownManner& manner) const {
  std::optional<sim::Signal> latest;
  for (int interruptions = 0;; ++interruptions) {
    HOOKE_CHECK(interruptions <= kInterruptionsMax,
                "part() goes on after at most kInterruptionsMax interruptions");
    while (const auto signal = ports_.processes.take_signal()) latest = signal;
    try {
      Endings::part(handler, ending, manner);
      break;
    } catch (const SignalException& error) {
      const bool goes_on =
          ending.parting == Ending::Parting::leaves && interruptions < kInterruptionsMax;
      if (!goes_on) throw;
      latest = error.signal();
    }
  }
  if (latest) throw SignalException(ports_.processes.self(), *latest);
}

const ProcessFailure& HardenedEndings::root_of(const ProcessFailures& failures) const {
  return first_own_failure(failures);
}

int HardenedEndings::signal_status(sim::Signal signal) const {
  HOOKE_CHECK(static_cast<int>(signal) > 0, "the number of the signal is positive");
  HOOKE_CHECK(static_cast<int>(signal) <= 64, "the number of the signal is at most 64");
  return kSignalled + static_cast<int>(signal);
}

void HardenedEndings::on_parting_failed(RendezvousHandler& handler,
                                        const std::exception& error) const {
  ports_.trace.emit(events::rendezvous_failed,
                    {handler.get_run_id(), class_of(error), error.what()});
}

}  // namespace hooke::model
