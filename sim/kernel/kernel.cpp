// How it is organised: FiberBlock is one pooled fiber with its current task; Impl holds the queues;
// Kernel's members are the operations. The heart is next_fiber(): it decides what runs next,
// advancing virtual time while nobody is ready, and is called from park() itself, so that most
// switches go straight from one fiber to the next. A timer that is a callback sends control back to
// run(), on the main stack.
#include "sim/kernel/kernel.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <stdexcept>
#include <utility>

#include "sim/kernel/contexts.h"
#include "sim/kernel/host_limits.h"
#include "sim/kernel/ready_queue.h"
#include "sim/kernel/timer_queue.h"
#include "sim/port/check.h"

namespace hooke::kernel {

/// A pooled fiber and the task it carries. `id` names the task: slot in the low half, incarnation
/// in the high half, so that it is unique in a run and found without a search.
struct FiberBlock {
  enum class State : unsigned char { free, ready, running, parked };

  Kernel* kernel = nullptr;
  Context* context = nullptr;
  FiberGroup* group = nullptr;
  std::size_t index_in_group = 0;
  std::uint64_t born = 0;  ///< number of the spawn
  std::uint64_t id = 0;
  std::uint64_t generation = 0;
  State state = State::free;
  sim::Wake wake = sim::Wake::woken;
  bool woken_early = false;  ///< wake() came between ticket() and park()
  bool doomed = false;       ///< killed alone, see FiberGroup::kill_fiber
  TimerId deadline;
  TimerId held_up;  ///< ready, but its turn comes only then
  sim::WorldTime deadline_at{};
  sim::EventId cause{};
  std::string name;
  std::function<void()> body;
  std::vector<sim::ParkTicket> joiners;

  [[nodiscard]] bool killed() const { return doomed || group->killed(); }
  static void run_tasks(void* self);
  static void deadline_passed(void*, std::uint64_t) {}
  static void let_go(void* self, std::uint64_t);
};

struct Kernel::Impl {
  Contexts contexts;
  std::vector<std::unique_ptr<FiberBlock>> blocks;
  std::vector<FiberBlock*> free_blocks;
  std::size_t live_fibers = 0;
  std::uint64_t spawned = 0;
  TimerQueue timers;
  std::optional<TimerQueue::Due>
      pending_callback;  ///< its time has come, it waits for the main stack
  ReadyQueue<FiberBlock*> ready;
  std::optional<Scheduler> scheduler;
  RunLimits limits;
  std::optional<HostLimits> host_limits;
  std::optional<RunEnd> end;
  bool in_run = false;
  bool draining = false;
  Outside* outside = nullptr;
  unsigned steps_until_look = 0;  ///< resumptions left before the outside gets its turn

  bool fire(Kernel& kernel, const TimerQueue::Due& due);
  FiberBlock* find(std::uint64_t id) {
    const std::size_t slot = id & 0xffffffffU;
    if (slot >= blocks.size() || blocks[slot]->id != id) return nullptr;
    return blocks[slot].get();
  }
};

namespace {

thread_local Kernel* kernel_of_thread = nullptr;

constexpr std::uint64_t kStepsBetweenHostChecks = 1U << 14U;
constexpr unsigned kStepsBetweenLooks = 64;

std::string describe_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

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

// ---- fiber groups
// ----------------------------------------------------------------------------------

FiberGroup::FiberGroup(Kernel& kernel, HoldUpObserver on_hold_up)
    : kernel_(kernel), on_hold_up_(std::move(on_hold_up)), number_(kernel.groups_++) {}

FiberGroup::~FiberGroup() {
  HOOKE_CHECK(fibers_.empty(), "a fiber group is destroyed only when its fibers have ended");
}

void FiberGroup::kill() {
  if (killed_) return;
  killed_ = true;
  paused_ = false;
  held_.clear();
  bool queued = false;
  for (FiberBlock* fiber : fibers_) {
    if (fiber->state == FiberBlock::State::running) continue;
    kernel_.cancel(std::exchange(fiber->held_up, {}));
    if (fiber->state == FiberBlock::State::parked) {
      kernel_.cancel(std::exchange(fiber->deadline, {}));
      ++fiber->generation;
      fiber->state = FiberBlock::State::ready;
    } else {
      queued = true;
    }
    fiber->cause = kernel_.cause_;
    dying_.push_back(fiber);
  }
  if (queued) {
    kernel_.impl_->ready.remove_if([this](FiberBlock* fiber) { return fiber->group == this; });
  }
  std::sort(dying_.begin(), dying_.end(),
            [](const FiberBlock* a, const FiberBlock* b) { return a->born < b->born; });
  let_next_unwind();
}

void FiberGroup::let_next_unwind() {
  unwinding_ = nullptr;
  if (dying_.empty()) return;
  unwinding_ = dying_.back();
  dying_.pop_back();
  kernel_.impl_->ready.push(unwinding_);
}

bool FiberGroup::kill_fiber(std::string_view name) {
  const auto found = std::find_if(fibers_.begin(), fibers_.end(), [&](const FiberBlock* fiber) {
    return fiber->name == name && !fiber->doomed;
  });
  if (killed_ || found == fibers_.end()) return false;
  (*found)->doomed = true;
  if ((*found)->state == FiberBlock::State::parked) {
    kernel_.make_ready(**found, sim::Wake::woken);
  }
  return true;
}

std::size_t FiberGroup::move_deadlines(const std::function<sim::WorldTime(sim::WorldTime)>& moved) {
  std::size_t count = 0;
  for (FiberBlock* fiber : fibers_) {
    const bool sleeps =
        fiber->state == FiberBlock::State::parked && kernel_.cancel(fiber->deadline);
    if (!sleeps) continue;
    fiber->deadline_at = std::max(moved(fiber->deadline_at), kernel_.now());
    fiber->deadline = kernel_.at(fiber->deadline_at, {&FiberBlock::deadline_passed, fiber, 0});
    ++count;
  }
  return count;
}

void FiberGroup::pause() {
  if (!killed_) paused_ = true;
}

void FiberGroup::resume() {
  paused_ = false;
  for (FiberBlock* fiber : std::exchange(held_, {})) kernel_.impl_->ready.push(fiber);
}

// ---- life of the kernel
// ----------------------------------------------------------------------------

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
  impl_->timers.clear();
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

// ---- the loop
// --------------------------------------------------------------------------------------

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
    if (!impl.fire(*this, impl.timers.pop())) run_callback();
  }
}

/// What runs next: a ready fiber, or null when the main stack has to act (a callback is due, the
/// run is to end, or nothing is left to do). Advances virtual time.
FiberBlock* Kernel::next_fiber() {
  Impl& impl = *impl_;
  while (!impl.end && !stop_requested_) {
    if (impl.outside != nullptr && !impl.draining && impl.steps_until_look == 0) return nullptr;
    while (!impl.ready.empty()) {
      FiberBlock* const fiber = take_ready();
      if (fiber->group->paused_) {
        fiber->group->held_.push_back(fiber);
        continue;
      }
      if (hold_up(*fiber)) continue;
      if (impl.steps_until_look != 0) --impl.steps_until_look;
      return fiber;
    }
    if (impl.outside != nullptr || impl.timers.empty() || impl.draining) return nullptr;
    const TimerQueue::Due due = impl.timers.pop();
    now_ = sim::WorldTime(sim::Duration(due.time));
    if (impl.limits.world_time_max && now_ > *impl.limits.world_time_max) {
      now_ = *impl.limits.world_time_max;
      impl.end = RunEnd::world_time_exhausted;
      return nullptr;
    }
    if (!impl.fire(*this, due)) return nullptr;
  }
  return nullptr;
}

/// Wakes the fiber whose deadline it is; false for a callback, which is then pending.
bool Kernel::Impl::fire(Kernel& kernel, const TimerQueue::Due& due) {
  if (due.callback.function != &FiberBlock::deadline_passed) {
    pending_callback = due;
    return false;
  }
  auto& fiber = *static_cast<FiberBlock*>(due.callback.context);
  kernel.cause_ = due.cause;
  kernel.make_ready(fiber, sim::Wake::timed_out);
  return true;
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
  fiber.held_up = at(now_ + span, {&FiberBlock::let_go, &fiber, 0});
  if (fiber.group->on_hold_up_) fiber.group->on_hold_up_(fiber.name, span);
  return true;
}

void FiberBlock::let_go(void* self, std::uint64_t) {
  auto& fiber = *static_cast<FiberBlock*>(self);
  fiber.held_up = {};
  fiber.kernel->impl_->ready.push(&fiber);
}

void Kernel::resume(FiberBlock& fiber, Context& from) {
  count_step(fiber.id + 1);
  fiber.state = FiberBlock::State::running;
  running_ = &fiber;
  cause_ = fiber.cause;
  impl_->contexts.switch_to(from, *fiber.context);
}

void Kernel::count_step(std::uint64_t who) {
  trace_->fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()) ^ (who << 40U));
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
  FiberBlock* const next = next_fiber();
  if (next == &self) {  // its own deadline, or it was woken meanwhile: nothing to switch
    count_step(self.id + 1);
    self.state = FiberBlock::State::running;
    cause_ = self.cause;
    return;
  }
  if (next != nullptr) {
    resume(*next, *self.context);
  } else {
    running_ = nullptr;
    impl_->contexts.switch_to(*self.context, *impl_->contexts.main());
  }
}

// ---- timers
// ----------------------------------------------------------------------------------------

TimerId Kernel::at(sim::WorldTime when, Callback callback) {
  HOOKE_CHECK(callback.function != nullptr, "a timer needs something to call");
  HOOKE_CHECK(when >= now_, "a timer cannot be armed in the past");
  return impl_->timers.arm(when.time_since_epoch().count(), callback, cause_);
}

bool Kernel::cancel(TimerId timer) {
  return impl_->timers.cancel(timer);
}

// ---- fibers
// ----------------------------------------------------------------------------------------

sim::FiberId Kernel::spawn(FiberGroup& group, std::string name, std::function<void()> body) {
  Impl& impl = *impl_;
  if (group.killed_) return sim::FiberId{UINT64_MAX};
  if (impl.free_blocks.empty()) {
    auto block = std::make_unique<FiberBlock>();
    block->kernel = this;
    block->id = impl.blocks.size();
    block->context = impl.contexts.create(&FiberBlock::run_tasks, block.get());
    impl.free_blocks.push_back(block.get());
    impl.blocks.push_back(std::move(block));
  }
  FiberBlock& fiber = *impl.free_blocks.back();
  impl.free_blocks.pop_back();
  fiber.id += std::uint64_t{1} << 32U;
  fiber.generation = 1;
  fiber.woken_early = fiber.doomed = false;
  fiber.name = std::move(name);
  fiber.body = std::move(body);
  fiber.born = impl.spawned++;
  fiber.group = &group;
  fiber.index_in_group = group.fibers_.size();
  group.fibers_.push_back(&fiber);
  if (++impl.live_fibers > impl.limits.fibers_max && impl.limits.fibers_max != 0) {
    impl.end = RunEnd::fibers_exhausted;
  }
  fiber.state = FiberBlock::State::parked;
  make_ready(fiber, sim::Wake::woken);
  return sim::FiberId{fiber.id};
}

/// The code of every pooled fiber: one task after the other until the kernel goes.
void FiberBlock::run_tasks(void* argument) {
  auto& self = *static_cast<FiberBlock*>(argument);
  Kernel& kernel = *self.kernel;
  while (!kernel.impl_->contexts.shutting_down()) {
    try {
      if (!self.killed()) self.body();
    } catch (const sim::Killed&) {
      // The process has died; unwinding was the point.
    } catch (...) {
      kernel.failure_ = "fiber \"" + self.name + "\" failed: " + describe_current_exception();
      kernel.impl_->end = RunEnd::failed;
    }
    kernel.end_task(self);
  }
}

/// Frees the block of a fiber whose task is over and runs something else.
void Kernel::end_task(FiberBlock& self) {
  Impl& impl = *impl_;
  const auto* globals = reinterpret_cast<const ExceptionState*>(abi::__cxa_get_globals());
  HOOKE_CHECK(globals->caught == nullptr && globals->uncaught == 0,
              "a finished task leaves no exception behind");
  self.body = nullptr;
  FiberGroup& group = *self.group;
  std::vector<FiberBlock*>& siblings = group.fibers_;
  siblings[self.index_in_group] = siblings.back();
  siblings[self.index_in_group]->index_in_group = self.index_in_group;
  siblings.pop_back();
  if (group.unwinding_ == &self) group.let_next_unwind();
  self.group = nullptr;
  self.state = FiberBlock::State::free;
  ++self.generation;
  --impl.live_fibers;
  for (const sim::ParkTicket& joiner : std::exchange(self.joiners, {})) wake(joiner);
  impl.free_blocks.push_back(&self);
  running_ = nullptr;
  leave(self);
}

sim::ParkTicket Kernel::ticket() const {
  HOOKE_CHECK(running_ != nullptr, "only a fiber can park");
  return {sim::FiberId{running_->id}, running_->generation};
}

sim::Wake Kernel::park(sim::ParkTicket ticket, std::optional<sim::WorldTime> deadline) {
  HOOKE_CHECK(running_ != nullptr, "only a fiber can park");
  FiberBlock& self = *running_;
  HOOKE_CHECK(ticket.fiber.value == self.id && ticket.generation == self.generation,
              "a fiber parks with its own, current ticket");
  if (self.killed()) die(self);
  if (self.woken_early) {
    self.woken_early = false;
    ++self.generation;
    return sim::Wake::woken;
  }
  self.state = FiberBlock::State::parked;
  self.deadline = {};
  self.cause = cause_;
  if (deadline) {
    self.deadline_at = std::max(*deadline, now_);
    self.deadline = at(self.deadline_at, {&FiberBlock::deadline_passed, &self, 0});
  }
  leave(self);
  if (self.killed()) throw sim::Killed{};
  return self.wake;
}

/// Unwinds the calling fiber; one that was running when its group was killed lets younger ones end
/// first.
void Kernel::die(FiberBlock& self) {
  FiberGroup& group = *self.group;
  if (group.unwinding_ != nullptr && group.unwinding_ != &self) {
    const auto older = [](const FiberBlock* a, const FiberBlock* b) { return a->born < b->born; };
    group.dying_.insert(std::upper_bound(group.dying_.begin(), group.dying_.end(), &self, older),
                        &self);
    self.state = FiberBlock::State::ready;
    self.cause = cause_;
    leave(self);
  }
  throw sim::Killed{};
}

bool Kernel::wake(sim::ParkTicket ticket) {
  FiberBlock* const fiber = impl_->find(ticket.fiber.value);
  if (fiber == nullptr || fiber->generation != ticket.generation) return false;
  if (fiber->state == FiberBlock::State::running) {
    if (fiber->woken_early) return false;
    fiber->woken_early = true;
    return true;
  }
  if (fiber->state != FiberBlock::State::parked) return false;
  make_ready(*fiber, sim::Wake::woken);
  return true;
}

/// Ends a suspension: from here on the fiber's old tickets are stale.
void Kernel::make_ready(FiberBlock& fiber, sim::Wake wake) {
  HOOKE_CHECK(fiber.state == FiberBlock::State::parked, "only a parked fiber becomes ready");
  if (wake == sim::Wake::woken) cancel(fiber.deadline);
  fiber.deadline = {};
  fiber.wake = wake;
  fiber.cause = cause_;
  ++fiber.generation;
  fiber.state = FiberBlock::State::ready;
  if (fiber.group->paused_) {
    fiber.group->held_.push_back(&fiber);
  } else {
    impl_->ready.push(&fiber);
  }
}

void Kernel::join(sim::FiberId id) {
  FiberBlock* const fiber = impl_->find(id.value);
  if (fiber == nullptr || fiber->state == FiberBlock::State::free) return;
  HOOKE_CHECK(fiber != running_, "a fiber cannot wait for its own end");
  const sim::ParkTicket mine = ticket();
  fiber->joiners.push_back(mine);
  static_cast<void>(park(mine, std::nullopt));
}

}  // namespace hooke::kernel
