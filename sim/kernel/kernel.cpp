// The loop. Its heart is next_fiber(): it decides what runs next, advancing virtual time while no
// fiber is ready, and is called from park() itself, so that most switches go straight from one
// fiber to the next. A timer that is a callback sends control back to run(), on the main stack.
#include "sim/kernel/kernel.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <utility>

#include "sim/kernel/kernel_parts.h"
#include "sim/port/check.h"

namespace hooke::kernel {

namespace {

thread_local Kernel* kernel_of_thread = nullptr;

constexpr std::uint64_t kStepsBetweenHostChecks = 1U << 14U;
constexpr unsigned kStepsBetweenLooks = 64;

}  // namespace

std::string describe_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::string_view to_string(RunEnd end) {
  switch (end) {
    case RunEnd::stopped: return "stopped";
    case RunEnd::idle: return "idle";
    case RunEnd::steps_exhausted: return "step limit reached";
    case RunEnd::world_time_exhausted: return "virtual time limit reached";
    case RunEnd::wall_time_exhausted: return "real time limit reached";
    case RunEnd::fibers_exhausted: return "fiber limit reached";
    case RunEnd::memory_exhausted: return "memory limit reached";
    case RunEnd::failed: return "failed";
  }
  return "?";
}

// ---- life of the kernel -------------------------------------------------------------------------

Kernel::Kernel() {
  if (kernel_of_thread != nullptr) throw std::logic_error("a thread carries one kernel at a time");
  impl_ = std::make_unique<Impl>();
  kernel_of_thread = this;
}

Kernel::~Kernel() {
  HOOKE_CHECK(impl_->live_fibers == 0, "no fiber is alive when its kernel goes");
  kernel_of_thread = nullptr;
}

void Kernel::begin(ChoiceSource& choices, TraceRecorder& trace, RunLimits limits,
                   Schedule schedule) {
  HOOKE_CHECK(impl_->live_fibers == 0, "no fiber of an earlier run is left");
  HOOKE_CHECK(!impl_->in_run, "a run cannot begin inside a run");
  HOOKE_CHECK(limits.world_time_max.value_or(sim::WorldTime{}) >= sim::WorldTime{},
              "a run is not cut before it begins");
  impl_->timers.clear();
  impl_->rests.clear();
  impl_->pending_callback.reset();
  impl_->ready.clear();
  impl_->scheduler.emplace(choices, schedule);
  impl_->limits = limits;
  impl_->host_limits.emplace(limits.wall_time_max, limits.memory_bytes_max);
  impl_->end.reset();
  impl_->outside = nullptr;
  impl_->steps_until_look = 0;
  // Identifiers start anew, so that a run does not depend on what ran before it. The blocks are
  // taken in the order of their slots.
  impl_->spawned = 0;
  impl_->free_blocks.clear();
  for (std::size_t i = impl_->blocks.size(); i-- > 0;) {
    impl_->blocks[i]->id = i;
    impl_->free_blocks.push_back(impl_->blocks[i].get());
  }
  choices_ = &choices;
  trace_ = &trace;
  now_ = {};
  cause_ = sim::kNoEvent;
  steps_ = 0;
  stop_requested_ = false;
  failure_.clear();
}

std::size_t Kernel::stack_high_water() const {
  return impl_->contexts.arena().high_water();
}

void Kernel::follow(Outside& outside) {
  HOOKE_CHECK(!impl_->in_run, "the outside is named before the run");
  impl_->outside = &outside;
}

// ---- the loop -----------------------------------------------------------------------------------

RunEnd Kernel::run() {
  HOOKE_CHECK(trace_ != nullptr, "begin() comes before run()");
  HOOKE_CHECK(!impl_->in_run, "run() is not re-entrant");
  impl_->in_run = true;
  impl_->end.reset();
  stop_requested_ = false;
  while (!impl_->end) {
    if (impl_->pending_callback) {
      run_callback();
    } else if (FiberBlock* const next = next_fiber()) {
      resume(*next, *impl_->contexts.main());
    } else if (!impl_->pending_callback && !impl_->end && !stop_requested_) {
      if (impl_->outside != nullptr) {
        look_outside();
      } else {
        impl_->end = RunEnd::idle;
      }
    }
    if (!impl_->end && stop_requested_) impl_->end = RunEnd::stopped;
  }
  impl_->in_run = false;
  return *impl_->end;
}

void Kernel::drain() {
  HOOKE_CHECK(!impl_->in_run, "a run cannot be drained from inside");
  impl_->in_run = impl_->draining = true;
  impl_->limits = {};
  impl_->end.reset();
  stop_requested_ = false;
  while (FiberBlock* const next = next_fiber()) {
    resume(*next, *impl_->contexts.main());
    impl_->end.reset();
  }
  impl_->in_run = impl_->draining = false;
}

void Kernel::run_callback() {
  HOOKE_CHECK(impl_->pending_callback.has_value(), "a callback that runs is due");
  HOOKE_CHECK(running_ == nullptr, "callbacks run on the main stack");
  const TimerQueue::Due due = *std::exchange(impl_->pending_callback, std::nullopt);
  count_step(0);
  cause_ = due.cause;
  try {
    due.callback.function(due.callback.context, due.callback.argument);
  } catch (...) {
    failure_ = "a callback failed: " + describe_current_exception();
    impl_->end = RunEnd::failed;
  }
}

/// Waits for the outside unless somebody is ready, then fires what has become due.
void Kernel::look_outside() {
  Impl& impl = *impl_;
  impl.steps_until_look = kStepsBetweenLooks;
  std::optional<sim::WorldTime> until = impl.limits.world_time_max;
  if (!impl.ready.empty()) {
    until = now_;
  } else if (const auto next = impl.timers.next_time()) {
    until = std::min(until.value_or(sim::WorldTime::max()), sim::WorldTime(sim::Duration(*next)));
  }
  HOOKE_CHECK(running_ == nullptr, "the outside is looked at from the main stack");
  cause_ = sim::kNoEvent;
  try {
    now_ = std::max(now_, impl.outside->wait(until));
  } catch (...) {
    failure_ = "a callback failed: " + describe_current_exception();
    impl.end = RunEnd::failed;
  }
  if (impl.limits.world_time_max && now_ > *impl.limits.world_time_max) {
    impl.end = RunEnd::world_time_exhausted;
  }
  const std::int64_t now = now_.time_since_epoch().count();
  while (!impl.end && impl.timers.next_time().value_or(INT64_MAX) <= now) {
    FiberBlock* const fiber = impl.fire(*this, impl.timers.pop());
    fiber != nullptr ? queue(*fiber) : run_callback();
  }
}

/// What runs next: a ready fiber, or null when the main stack has to act (a callback is due, the
/// run is to end, or nothing is left to do). Advances virtual time.
FiberBlock* Kernel::next_fiber() {
  Impl& impl = *impl_;
  while (!impl.end && !stop_requested_) {
    if (impl.outside != nullptr && !impl.draining && impl.steps_until_look == 0) return nullptr;
    FiberBlock* due = nullptr;  // it need not queue, for no fiber is ready
    if (impl.ready.empty() && (due = next_due()) == nullptr) return nullptr;
    while (due != nullptr || !impl.ready.empty()) {
      FiberBlock* const fiber = due != nullptr ? std::exchange(due, nullptr) : take_ready();
      HOOKE_CHECK(fiber->state == FiberBlock::State::ready, "what waits in the queue is ready");
      if (fiber->group->paused_) {
        fiber->group->held_.push_back(fiber);
        continue;
      }
      if (hold_up(*fiber)) continue;
      if (sleeps_on(*fiber)) {
        if (impl.end || stop_requested_) return nullptr;
        continue;
      }
      if (impl.steps_until_look != 0) --impl.steps_until_look;
      return fiber;
    }
  }
  return nullptr;
}

FiberBlock* Kernel::take_ready() {
  Impl& impl = *impl_;
  const std::size_t count = std::min(impl.ready.size(), Scheduler::kSeen);
  if (count == 1 || impl.scheduler->in_order()) return impl.ready.take(0);
  std::array<ReadyFiber, Scheduler::kSeen> ready;
  for (std::size_t i = 0; i < count; ++i) {
    const FiberBlock& fiber = *impl.ready[i];
    ready[i] = {fiber.born, fiber.group->number_};
  }
  return impl.ready.take(impl.scheduler->pick(std::span(ready).first(count)));
}

/// Whether the fiber's turn comes later than it should. One that unwinds is not held up: a killed
/// process is gone at once.
bool Kernel::hold_up(FiberBlock& fiber) {
  if (fiber.killed() || impl_->draining) return false;
  const sim::Duration span = impl_->scheduler->hold_up();
  if (span == sim::Duration::zero()) return false;
  HOOKE_CHECK(span > sim::Duration::zero(), "a fiber is held up for some time");
  fiber.held_up = at(now_ + span, {&FiberBlock::let_go, &fiber, 0});
  if (fiber.group->on_hold_up_) fiber.group->on_hold_up_(fiber.name, span);
  return true;
}

/// Whether the fiber, whose turn it is, is left asleep. All happens that would have happened, had it
/// run and parked again: the step, what its look has an effect on, the timer.
bool Kernel::sleeps_on(FiberBlock& fiber) {
  if (fiber.sleeper == nullptr) return false;
  if (fiber.wake == sim::Wake::timed_out) {
    if (!fiber.killed() && !impl_->draining) {
      count_step(fiber.id + 1);
      cause_ = fiber.cause;
      const auto deadline = next_turn(fiber);
      fiber.cause = cause_;
      if (deadline) {
        fiber.state = FiberBlock::State::parked;
        arm_deadline(fiber, *deadline);
        return true;
      }
      fiber.step_counted = true;
    }
    ++fiber.generation;  // its ticket was good until now
  }
  fiber.sleeper = nullptr;
  stir(fiber);
  return false;
}

void FiberBlock::let_go(void* self, std::uint64_t) {
  auto& fiber = *static_cast<FiberBlock*>(self);
  HOOKE_CHECK(fiber.state == State::ready, "a fiber that was held up is ready");
  fiber.held_up = {};
  fiber.kernel->impl_->ready.push(&fiber);
}

void Kernel::resume(FiberBlock& fiber, Context& from) {
  HOOKE_CHECK(fiber.state == FiberBlock::State::ready, "only a ready fiber is resumed");
  begin_step(fiber);
  running_ = &fiber;
  impl_->contexts.switch_to(from, fiber.context);
}

void Kernel::begin_step(FiberBlock& fiber) {
  if (!fiber.step_counted) count_step(fiber.id + 1);
  fiber.step_counted = false;
  fiber.state = FiberBlock::State::running;
  cause_ = fiber.cause;
}

void Kernel::count_step(std::uint64_t actor) {
  trace_->fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()) ^ (actor << 40U));
  ++steps_;
  Impl& impl = *impl_;
  if (impl.limits.steps_max != 0 && steps_ >= impl.limits.steps_max) {
    impl.end = RunEnd::steps_exhausted;
  }
  if (steps_ % kStepsBetweenHostChecks == 0) {
    if (impl.host_limits->time_is_up()) impl.end = RunEnd::wall_time_exhausted;
    if (impl.host_limits->memory_is_up()) impl.end = RunEnd::memory_exhausted;
  }
}

/// Leaves the calling fiber for whatever runs next; returns when the fiber is resumed.
void Kernel::leave(FiberBlock& self) {
  self.frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  FiberBlock* const next = next_fiber();
  if (next == &self) {  // its own deadline, or it was woken meanwhile: nothing to switch
    HOOKE_CHECK(self.state == FiberBlock::State::ready, "a fiber goes on when it is ready");
    begin_step(self);
    return;
  }
  if (next != nullptr) {
    resume(*next, self.context);
  } else {
    running_ = nullptr;
    impl_->contexts.switch_to(self.context, *impl_->contexts.main());
  }
}

}  // namespace hooke::kernel
