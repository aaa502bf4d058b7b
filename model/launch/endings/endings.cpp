#include "model/launch/endings/endings.h"

#include <cstdint>
#include <stdexcept>

#include "model/observe/python_error.h"
#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "model/store/store.h"
#include "model/worker/failure_summary.h"
#include "sim/port/check.h"

namespace hooke::model {

std::string class_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const RendezvousError*>(&error)) return known->class_name();
  if (const auto* raw = dynamic_cast<const EscapedPythonError*>(&error)) return raw->class_name();
  if (dynamic_cast<const StoreTimeoutError*>(&error) != nullptr) return "DistStoreError";
  if (dynamic_cast<const StoreError*>(&error) != nullptr) return "DistNetworkError";
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) return "ValueError";
  return "RuntimeError";
}

/// Each agent draws its own, so that they never meet (L-10). A whole uuid4 in decimal, as PyTorch
/// draws it, has more digits; it is only a name.
std::string Endings::run_id() const {
  const std::uint64_t bound = std::uint64_t{1} << 62U;
  return std::to_string(ports_.random.below("launch.run_id", bound)) +
         std::to_string(ports_.random.below("launch.run_id", bound));
}

/// Whatever the workers did (L-9).
void Endings::tell_returned(Agent& agent) const {
  agent.ended("SUCCEEDED", "");
}

Ending Endings::of_result(const std::optional<RunResult>& result) const {
  if (!result) {
    // A graceful exit gives no result, and the launcher trips over that.
    return {"graceful_exit", kExitFailed, "AttributeError: the agent returned no result"};
  }
  if (!result->failed()) return {"succeeded", 0, ""};  // an unhealthy group, too
  HOOKE_CHECK(!result->failures.empty(), "a group has failed by a worker of it");
  const ProcessFailure& cause = cause_of(result->failures);
  HOOKE_CHECK(&cause >= result->failures.data() &&
                  &cause < result->failures.data() + result->failures.size(),
              "the cause is one of the failures");
  ports_.trace.emit(events::failure_reported, {rank_of(cause), cause.pid.value, cause.exit_code});
  static_cast<void>(ports_.files.append(
      "/dev/stderr",
      failure_summary(entry_point_name(spec_.command), result->failures,
                      ports_.network.fully_qualified_name(), root_of(result->failures))));
  pass_on_error_file(ports_, cause);
  return {"failed", kExitFailed,
          "ChildFailedError: rank " + std::to_string(cause.rank) + ": " + cause.message, true};
}

void Endings::tell_judged(Agent& agent, bool no_result, const Ending& ending) const {
  if (no_result) agent.ended("FAILED", ending.detail);
}

bool Endings::is_keyboard_interrupt(const Agent& agent, const SignalException& error) {
  return !agent.handles(error.signal());
}

Ending Endings::of_signal(const Agent& agent, const SignalException& error) const {
  HOOKE_CHECK(static_cast<int>(error.signal()) > 0, "signals are numbered from 1");
  const bool keyboard_interrupt = is_keyboard_interrupt(agent, error);
  ports_.trace.emit(events::agent_signalled, {static_cast<int>(error.signal()),
                                              keyboard_interrupt ? "before workers" : "running"});
  return {"signalled", keyboard_interrupt ? kExitInterrupted : signal_status(error.signal()),
          error.what()};
}

/// Closing would forbid later scaling, so a signal leaves the rendezvous open. A keyboard interrupt
/// runs the clean-up like any other error and so closes it for the whole job.
Ending::Parting Endings::parting_of_signal(const Agent& agent, const SignalException& error) const {
  return is_keyboard_interrupt(agent, error) ? Ending::Parting::closes : Ending::Parting::walks_off;
}

void Endings::of_error(Ending& ending, Agent& agent, const std::exception& error) const {
  ending.detail = class_of(error) + ": " + error.what();
  HOOKE_CHECK(!class_of(error).empty(), "an error has a class");
  ending.job_failed = true;
  agent.ended("FAILED", ending.detail);
}

void Endings::part(RendezvousHandler& handler, const Ending& ending,
                   const ShutdownManner& manner) const {
  if (ending.parting == Ending::Parting::walks_off) return;
  try {
    static_cast<void>(ending.parting == Ending::Parting::leaves
                          ? handler.leave()
                          : manner.shut_down({ports_, handler, ending.others_are_done}));
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception& error) {
    on_parting_failed(handler, error);
  }
  check_signals(ports_);
}

const ProcessFailure& Endings::root_of(const ProcessFailures& failures) const {
  return first_failure(failures);
}

const ProcessFailure& Endings::cause_of(const ProcessFailures& failures) const {
  return root_of(failures);
}

std::int64_t Endings::rank_of(const ProcessFailure& cause) const {
  return cause.rank;
}

void Endings::on_parting_failed(RendezvousHandler&, const std::exception&) const {
  throw;
}

}  // namespace hooke::model
