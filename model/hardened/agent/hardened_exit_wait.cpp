#include "model/hardened/agent/hardened_exit_wait.h"

#include <algorithm>
#include <utility>

#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "model/store/short_timeout.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

using namespace std::chrono_literals;

ExitBarrier HardenedExitWait::barrier() const {
  return {*core_.group.store, core_.group.group_rank, size(), kTerminalState};
}

sim::Duration HardenedExitWait::look_interval() const {
  return 1s;
}

/// A job without rounds (static) has one barrier: an agent that comes back finds what its predecessor
/// signed, which was counted; a second count would open the barrier one agent short.
bool HardenedExitWait::is_counted(ExitBarrier& own, bool again) {
  const bool may_have_come = again || core_.group.round < 0;
  return may_have_come && own.has_come();
}

void HardenedExitWait::go_back(ExitBarrier& own) {
  own.leave();
}

/// Between two looks at the barrier a look at the rendezvous. A slow store takes its time for each
/// question: when the time is up only the barrier is looked at, once. A store that cannot be
/// reached is asked again until then: the others wait for this agent, and have no other way to hear
/// of it. A barrier that is full, but from which one has gone back, is not passed; nor is one of
/// another group, which has taken the round in a store that came up empty.
std::string_view HardenedExitWait::meet() {
  const sim::MonotonicTime end = core_.ports.clock.monotonic_now() + longest();
  const auto left = [&] { return end - core_.ports.clock.monotonic_now(); };
  // std::clamp below needs the order of its bounds.
  HOOKE_CHECK(look_interval() >= 0s, "the interval between looks is not negative");
  HOOKE_CHECK(core_.group.store != nullptr,
              "the group has a store when the agent waits at the exit barrier");
  ExitBarrier own = barrier();
  is_taken_ = has_said_ = false;
  bool come = false;
  for (;;) {
    const ShortTimeout until_then(*core_.group.store, std::max<sim::Duration>(left(), 0s));
    bool is_left = false;
    try {
      if (!come || left() > 0s) come_to(own, std::exchange(come, true));
      const bool is_full =
          !is_taken_ && own.is_open(std::clamp<sim::Duration>(left(), 0s, look_interval()));
      is_left = is_full && own.has_been_left();
      if (is_full && !is_left && !has_become_of_others(own)) return "passed";
    } catch (const StoreNetworkError&) {
      if (left() <= 0s) throw;
    }
    if (left() <= 0s) throw StoreTimeoutError("the others have not come to the barrier");
    check_signals(core_.ports);
    try {
      if (const std::string_view how = look_up(own); !how.empty()) return how;
    } catch (const RendezvousConnectionError&) {
      // It cannot be known now; the store is asked again.
    } catch (const StoreNetworkError&) {
    }
    if (is_left || is_taken_) interruptible_sleep(core_.ports, look_interval());
  }
}

/// Why not to wait any longer; empty: go on. An agent that goes back says so first.
std::string_view HardenedExitWait::look_up(ExitBarrier& own) {
  if (core_.handler.is_closed() || job_.has_failed(core_.group.round)) return "closed";
  const bool others_wait = core_.handler.num_nodes_waiting() > 0;
  const Successor next = others_wait ? Successor::begun : core_.handler.successor();
  if (next == Successor::none) return {};
  if (next == Successor::complete) return own.has_been_left() ? "left_behind" : "";
  say_that_it_goes_back(own);
  return "others_return";
}

/// Agents that come later shall not take the job for done, nor wait here when there is no place for
/// them in the round that follows. Another group that has the round, since a moment ago perhaps,
/// would wait in its full barrier until its time is up.
void HardenedExitWait::say_that_it_goes_back(ExitBarrier& own) {
  if (is_of_others(own)) return;
  has_said_ = true;
  go_back(own);
  static_cast<void>(is_of_others(own));
}

/// Whether another group has the round, asked behind a look at a barrier that was this group's own a
/// moment ago: where that cannot be known it still is, since the store may have gone with agents that
/// have passed the barrier.
bool HardenedExitWait::has_become_of_others(ExitBarrier& own) try {
  return is_of_others(own);
} catch (const RendezvousConnectionError&) {
  return false;
}

/// Whether another group has the round now. What was said in its barrier is taken back.
bool HardenedExitWait::is_of_others(ExitBarrier& own) {
  is_taken_ = core_.handler.round_is_taken();
  if (is_taken_ && has_said_) {
    own.take_back_leaving();
    has_said_ = false;
  }
  return is_taken_;
}

/// Again, too, in a store that came up empty; not where another group has taken the round there,
/// whose barrier it would open.
void HardenedExitWait::come_to(ExitBarrier& own, bool again) {
  try {
    if (is_of_others(own) || is_counted(own, again)) return;
    own.arrive();
  } catch (const RendezvousConnectionError&) {
    // It is unknown; the store is asked again.
  }
}

}  // namespace hooke::model
