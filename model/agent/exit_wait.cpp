#include "model/agent/exit_wait.h"

#include <exception>

#include "model/observe/trace_events.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

std::string_view ExitWait::wait() {
  HOOKE_CHECK(core_.group.store != nullptr, "an agent waits at the end of a round it has joined");
  const std::string run_id = core_.handler.get_run_id();
  const std::int64_t round = core_.group.round;
  core_.ports.trace.emit(events::exit_barrier_entered,
                         {run_id, round, core_.group.group_world_size});
  const sim::MonotonicTime begin = core_.ports.clock.monotonic_now();
  const auto left = [&](std::string_view result) {
    const sim::Duration waited = core_.ports.clock.monotonic_now() - begin;
    HOOKE_CHECK(waited >= sim::Duration::zero(), "a monotonic clock goes forward");
    core_.ports.trace.emit(events::exit_barrier_left, {run_id, round, result, waited});
    return result;
  };
  try {
    // Deaf: a signal that comes meanwhile is raised only after it.
    return left(meet());
  } catch (const SignalException&) {
    left("interrupted");
    throw;
  } catch (const StoreTimeoutError&) {
    left("timed_out");  // logged and swallowed: the agent still succeeds
    check_signals(core_.ports);
    return "timed_out";
  } catch (const std::exception&) {
    left("failed");
    check_signals(core_.ports);
    return "failed";
  }
}

std::int64_t ExitWait::size() const {
  return core_.group.group_world_size;
}

sim::Duration ExitWait::longest() const {
  return core_.spec.exit_barrier_timeout;
}

std::string_view ExitWait::meet() {
  Store& store = *core_.group.store;
  if (counts_in_barriers(core_.spec.variant)) {
    barrier(store, size(), kTerminalState, longest());
  } else {
    barrier_1_13(store, core_.group.group_rank, size(), kTerminalState, longest());
  }
  return "passed";
}

}  // namespace hooke::model
