// What waits for a time: timers, and fibers that rest. Both come due in the order of time, and at one
// time in the order in which they were armed.
#include <utility>

#include "sim/kernel/kernel_parts.h"
#include "sim/port/check.h"

namespace hooke::kernel {

namespace {

constexpr std::ptrdiff_t kLine = 64;
/// So many fibers' records and stacks stay in the caches by themselves.
constexpr std::size_t kFibersCached = 128;
/// What rests is told so many turns ahead.
constexpr std::size_t kFar = 8;

void fetch(const void* start, std::ptrdiff_t lines) {
  for (std::ptrdiff_t i = 0; i < lines; ++i) {
    __builtin_prefetch(static_cast<const std::byte*>(start) + i * kLine, 1);
  }
  // GCC 12 takes a function that does nothing else for one without effect, and calls it never.
  asm volatile("");
}

/// A parked fiber's record and stack have left the caches where there are thousands of them: those of
/// the next ones are fetched meanwhile.
void fetch_ahead(TimerQueue& timers) {
  const auto is_deadline = [](const Callback& callback) {
    return callback.function == &FiberBlock::deadline_passed;
  };
  timers.look_ahead(
      [&](const Callback& callback) {
        if (is_deadline(callback)) fetch(callback.context, 3);
      },
      [&](const Callback& callback) {
        if (!is_deadline(callback)) return;
        const auto& fiber = *static_cast<const FiberBlock*>(callback.context);
        if (fiber.sleeper != nullptr) return fetch(fiber.sleeper, 1);
        fetch(fiber.context.boost, 2);
        fetch(fiber.frame - 5 * kLine, 8);
      });
}

}  // namespace

/// Goes on to when the next fiber has rested or the next timer fires. The fiber whose deadline it
/// is, or null.
FiberBlock* Kernel::next_due() {
  Impl& impl = *impl_;
  if (impl.outside != nullptr || impl.draining) return nullptr;
  while (const Rests::Rest* const rest = impl.next_rest()) {
    impl.timers.go_on_to(rest->time);
    if (!go_on_to(rest->time)) return nullptr;
    if (impl.live_fibers > kFibersCached) impl.rests.fetch_ahead(kFar);
    if (!impl.dozes(*this, *rest)) {
      FiberBlock& fiber = *impl.rests.at(impl.rests.take_first().place).fiber;
      fiber.rests = false;
      cause_ = fiber.cause;
      awaken(fiber, sim::Wake::timed_out);
      return &fiber;
    }
    if (impl.end) return nullptr;
  }
  if (impl.timers.empty()) return nullptr;
  const TimerQueue::Due due = impl.timers.pop();
  if (impl.live_fibers > kFibersCached) fetch_ahead(impl.timers);
  return go_on_to(due.time) ? impl.fire(*this, due) : nullptr;
}

/// Whether the fiber whose rest is over, the first of all, sleeps on without being asked. If so, all
/// has happened that sleeps_on() would have done.
bool Kernel::Impl::dozes(Kernel& kernel, const Rests::Rest& rest) {
  const Rests::Place& place = rests.at(rest.place);
  const std::int64_t next = rest.time + place.doze.apart.count();
  if (kernel.now_ > place.doze.until || !rests.comes_last(next)) return false;
  if (scheduler->may_hold_up()) return false;
  kernel.count_step(place.fiber_id + 1);
  rests.add(rests.take_first().place, next, timers.number());
  return true;
}

/// False if the run ends before.
bool Kernel::go_on_to(std::int64_t time) {
  HOOKE_CHECK(time >= now_.time_since_epoch().count(), "virtual time does not go back");
  now_ = sim::WorldTime(sim::Duration(time));
  const auto& end = impl_->limits.world_time_max;
  if (!end || now_ <= *end) return true;
  now_ = *end;
  impl_->end = RunEnd::world_time_exhausted;
  return false;
}

/// Awakens the fiber whose deadline it is; null for a callback, which is then pending.
FiberBlock* Kernel::Impl::fire(Kernel& kernel, const TimerQueue::Due& due) {
  if (due.callback.function != &FiberBlock::deadline_passed) {
    pending_callback = due;
    return nullptr;
  }
  auto& fiber = *static_cast<FiberBlock*>(due.callback.context);
  kernel.cause_ = due.cause;
  kernel.awaken(fiber, sim::Wake::timed_out);
  return &fiber;
}

TimerId Kernel::at(sim::WorldTime when, Callback callback) {
  HOOKE_CHECK(callback.function != nullptr, "a timer needs something to call");
  HOOKE_CHECK(when >= now_, "a timer cannot be armed in the past");
  return impl_->timers.arm(when.time_since_epoch().count(), callback, cause_);
}

bool Kernel::cancel(TimerId timer) {
  return impl_->timers.cancel(timer);
}

void Kernel::arm_deadline(FiberBlock& fiber, sim::WorldTime deadline) {
  HOOKE_CHECK(deadline >= now_, "a timer cannot be armed in the past");
  Impl& impl = *impl_;
  fiber.deadline_at = deadline;
  const std::int64_t time = deadline.time_since_epoch().count();
  if (fiber.sleeper != nullptr && impl.outside == nullptr && impl.rests.comes_last(time)) {
    fiber.cause = cause_;
    fiber.rests = true;
    impl.rests.add(place_of(fiber), time, impl.timers.number());
  } else {
    fiber.deadline = impl.timers.arm(time, {&FiberBlock::deadline_passed, &fiber, 0}, cause_);
  }
}

/// True if the fiber had one and now has none.
bool Kernel::cancel_deadline(FiberBlock& fiber) {
  if (!fiber.rests) return cancel(std::exchange(fiber.deadline, {}));
  fiber.rests = false;
  fiber.deadline_at = sim::WorldTime(sim::Duration(impl_->rests.at(fiber.place).time));
  impl_->rests.end(fiber.place);
  return true;
}

std::uint32_t Kernel::place_of(FiberBlock& fiber) {
  if (fiber.place == FiberBlock::kNoPlace) fiber.place = impl_->rests.new_place(fiber);
  impl_->rests.at(fiber.place).fiber_id = fiber.id;
  return fiber.place;
}

void Kernel::doze(sim::FiberId id, const Doze& doze) {
  FiberBlock* const fiber = impl_->find(id.value);
  if (fiber != nullptr) impl_->rests.at(place_of(*fiber)).doze = doze;
}

/// Until when a fiber that could go on sleeps on instead; nullopt: it goes on.
std::optional<sim::WorldTime> Kernel::next_turn(FiberBlock& fiber) {
  if (fiber.place != FiberBlock::kNoPlace) {
    const Doze& doze = impl_->rests.at(fiber.place).doze;
    if (now_ <= doze.until) return now_ + doze.apart;
  }
  return fiber.sleeper->sleeps_on();
}

void Kernel::stir(FiberBlock& fiber) {
  if (fiber.place != FiberBlock::kNoPlace) impl_->rests.at(fiber.place).doze = {};
}

}  // namespace hooke::kernel
