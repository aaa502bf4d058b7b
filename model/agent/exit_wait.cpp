#include "model/agent/exit_wait.h"

#include <exception>

#include "model/observe/trace_events.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

std::string_view ExitWait::wait() {
  HOOKE_CHECK(core_.group.store != nullptr,
              "the group has a store when the agent waits at the exit barrier");
  const std::string run_id = core_.handler.get_run_id();
  const std::int64_t round = core_.group.round;
  core_.ports.trace.emit(events::exit_barrier_entered,
                         {run_id, round, core_.group.group_world_size});
  const sim::MonotonicTime begin = core_.ports.clock.monotonic_now();
  const auto left = [&](std::string_view result) {
    const sim::Duration waited = core_.ports.clock.monotonic_now() - begin;
    HOOKE_CHECK(waited >= sim::Duration::zero(), "the elapsed monotonic time is not negative");
    HOOKE_CHECK(!result.empty(), "the result of the exit barrier's wait has a name");
    core_.ports.trace.emit(events::exit_barrier_left, {run_id, round, result, waited});
    return result;
  };
  try {
    return left(meet_or_fail());
  } catch (const SignalException&) {
    left("interrupted");
    throw;
  }
}

/// Deaf: a signal that comes meanwhile is raised only when the wait is over, and instead of
/// its error, if it has one, which is logged and swallowed otherwise: the agent still succeeds. The
/// handler runs when Python calls its next function, in 2.x that which ends the store's time-out
/// (store.py:store_timeout), inside of the barrier; in 1.13 one for the line that tells of the
/// error, which is then not told.
std::string_view ExitWait::meet_or_fail() {
  try {
    return meet();
  } catch (const SignalException&) {
    throw;
  } catch (const StoreTimeoutError&) {
    check_signals(core_.ports);
    return "timed_out";
  } catch (const std::exception&) {
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
  HOOKE_CHECK(size() >= 1, "the size of the exit barrier is at least 1");
  HOOKE_CHECK(longest() >= sim::Duration::zero(),
              "the longest wait at the exit barrier is not negative");
  if (counts_in_barriers(core_.spec.variant)) {
    barrier(store, size(), kTerminalState, longest());
  } else {
    barrier_1_13(store, core_.group.group_rank, size(), kTerminalState, longest());
  }
  return "passed";
}

}  // namespace hooke::model
