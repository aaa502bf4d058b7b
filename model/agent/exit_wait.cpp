// PyTorch's agents are deaf while they wait; hardened ones look up once a second.
#include "model/agent/exit_wait.h"

#include <algorithm>
#include <utility>

#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "model/store/short_timeout.h"
#include "model/store/store_helpers.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// How often a hardened agent looks up.
constexpr sim::Duration kLook = 1s;

}  // namespace

ExitWait::ExitWait(sim::Ports& ports, const WorkerSpec& spec, RendezvousHandler& handler,
                   const WorkerGroup& group, std::function<bool()> job_has_failed)
    : ports_(ports),
      spec_(spec),
      handler_(handler),
      group_(group),
      job_has_failed_(std::move(job_has_failed)) {}

std::string_view ExitWait::wait() {
  ports_.trace.emit(events::exit_barrier_entered,
                    {handler_.get_run_id(), group_.round, group_.group_world_size});
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  const auto left = [&](std::string_view result) {
    ports_.trace.emit(events::exit_barrier_left, {handler_.get_run_id(), group_.round, result,
                                                  ports_.clock.monotonic_now() - begin});
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
    check_signals(ports_);
    return "timed_out";
  } catch (const std::exception&) {
    left("failed");
    check_signals(ports_);
    return "failed";
  }
}

ExitBarrier ExitWait::barrier() const {
  return {*group_.store, group_.group_rank, size(), kTerminalState};
}

std::int64_t ExitWait::size() const {
  if (planted(Planted::agent_exit_barrier_of_workers)) return group_.ranks.world_size;
  std::int64_t size = group_.group_world_size;
  if (planted(Planted::agent_exit_barrier_one_short)) --size;
  if (planted(Planted::agent_exit_barrier_one_more)) ++size;
  if (planted(Planted::agent_exit_barrier_of_present))
    size -= static_cast<std::int64_t>(handler_.missing_ranks().size());
  return std::max<std::int64_t>(size, 1);
}

/// How long it waits.
sim::Duration ExitWait::longest() const {
  return planted(Planted::agent_exit_barrier_not_waited) ? 0s : spec_.exit_barrier_timeout;
}

std::string_view ExitWait::meet() {
  if (spec_.looks_up_in_exit_barrier()) return watch();
  if (!counts_in_barriers(spec_.variant)) {
    barrier_1_13(*group_.store, group_.group_rank, size(), kTerminalState, longest());
  } else {
    model::barrier(*group_.store, size(), kTerminalState, longest());
  }
  return "passed";
}

/// Between two looks at the barrier a look at the rendezvous. A slow store takes its time for each
/// question: when the time is up only the barrier is looked at, once. A store that cannot be
/// reached is asked again until then: the others wait for this agent, and have no other way to hear
/// of it.
std::string_view ExitWait::watch() {
  const sim::MonotonicTime end = ports_.clock.monotonic_now() + longest();
  const sim::Duration look = planted(Planted::agent_exit_barrier_without_pause) ? 0s : kLook;
  const auto left = [&] { return end - ports_.clock.monotonic_now(); };
  ExitBarrier own = barrier();
  bool come = false;
  for (;;) {
    const ShortTimeout until_then(*group_.store, std::max<sim::Duration>(left(), 0s));
    try {
      if (!come || left() > 0s) come_to(own, std::exchange(come, true));
      if (own.is_open(std::clamp<sim::Duration>(left(), 0s, look))) return "passed";
    } catch (const StoreNetworkError&) {
      if (left() <= 0s) throw;
    }
    if (left() <= 0s) throw StoreTimeoutError("the others have not come to the barrier");
    check_signals(ports_);
    try {
      if (const std::string_view how = look_up(own); !how.empty()) return how;
    } catch (const RendezvousConnectionError&) {
      // It cannot be known now; the store is asked again.
    } catch (const StoreNetworkError&) {
    }
  }
}

/// Why not to wait any longer; empty: go on. An agent that goes back says so first: those who come
/// later shall not take the job for done, nor wait here when there is no place for them in the
/// round that follows.
std::string_view ExitWait::look_up(ExitBarrier& own) {
  if (handler_.is_closed() || job_has_failed_()) return "closed";
  const bool others_wait = handler_.num_nodes_waiting() > 0;
  const Successor next = others_wait ? Successor::begun : handler_.successor();
  if (next == Successor::none) return {};
  if (next == Successor::complete) return own.has_been_left() ? "left_behind" : "";
  if (!planted(Planted::agent_exit_barrier_left_silently)) own.leave();
  return "others_return";
}

/// Again, too, in a store that came up empty; not where another group has taken the round there,
/// whose barrier it would open.
void ExitWait::come_to(ExitBarrier& own, bool again) {
  try {
    const bool anew = planted(Planted::agent_exit_barrier_counted_twice);
    if (handler_.round_is_taken() || (again && !anew && own.has_come())) return;
    own.arrive();
  } catch (const RendezvousConnectionError&) {
    // It is unknown; the store is asked again.
  }
}

}  // namespace hooke::model
