// The life of a fiber: it is spawned into a pooled block, parks and is woken, and ends by giving
// the block back. A ticket is good for one park: each wake moves the generation on.
#include <cxxabi.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/kernel_parts.h"
#include "sim/port/check.h"

namespace hooke::kernel {

sim::FiberId Kernel::spawn(FiberGroup& group, std::string name, std::function<void()> body) {
  Impl& impl = *impl_;
  if (group.killed_) return sim::FiberId{UINT64_MAX};
  HOOKE_CHECK(body != nullptr, "a fiber has something to do");
  if (impl.free_blocks.empty()) {
    auto block = std::make_unique<FiberBlock>();
    block->kernel = this;
    block->id = impl.blocks.size();
    impl.contexts.create(block->context, &FiberBlock::run_tasks, block.get());
    impl.free_blocks.push_back(block.get());
    impl.blocks.push_back(std::move(block));
  }
  FiberBlock& fiber = *impl.free_blocks.back();
  impl.free_blocks.pop_back();
  HOOKE_CHECK(fiber.state == FiberBlock::State::free && fiber.joiners.empty(),
              "a block is free before it is used again");
  fiber.id += std::uint64_t{1} << 32U;
  fiber.generation = 1;
  fiber.woken_early = fiber.doomed = fiber.step_counted = false;
  fiber.sleeper = nullptr;
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
  HOOKE_CHECK(self.state == FiberBlock::State::running, "a task ends while it runs");
  self.body = nullptr;
  FiberGroup& group = *self.group;
  std::vector<FiberBlock*>& siblings = group.fibers_;
  HOOKE_CHECK(siblings[self.index_in_group] == &self, "a fiber knows its place in its group");
  siblings[self.index_in_group] = siblings.back();
  siblings[self.index_in_group]->index_in_group = self.index_in_group;
  siblings.pop_back();
  if (group.unwinding_ == &self) group.let_next_unwind();
  self.group = nullptr;
  self.state = FiberBlock::State::free;
  ++self.generation;
  HOOKE_CHECK(impl.live_fibers > 0, "a fiber that ends was counted");
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

sim::Wake Kernel::park(sim::ParkTicket ticket, std::optional<sim::WorldTime> deadline,
                       Sleeper* sleeper) {
  HOOKE_CHECK(running_ != nullptr, "only a fiber can park");
  FiberBlock& self = *running_;
  HOOKE_CHECK(ticket.fiber.value == self.id && ticket.generation == self.generation,
              "a fiber parks with its own, current ticket");
  HOOKE_CHECK(self.state == FiberBlock::State::running, "only a running fiber parks");
  if (self.killed()) die(self);
  if (self.woken_early) {
    self.woken_early = false;
    ++self.generation;
    return sim::Wake::woken;
  }
  self.state = FiberBlock::State::parked;
  self.deadline = {};
  self.sleeper = sleeper;
  self.cause = cause_;
  if (deadline) arm_deadline(self, std::max(*deadline, now_));
  leave(self);
  if (self.killed()) throw sim::Killed{};
  return self.wake;
}

/// Unwinds the calling fiber; one that was running when its group was killed lets younger ones end
/// first.
void Kernel::die(FiberBlock& self) {
  HOOKE_CHECK(self.killed(), "only a killed fiber unwinds");
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

void Kernel::make_ready(FiberBlock& fiber, sim::Wake wake) {
  awaken(fiber, wake);
  queue(fiber);
}

/// Ends a suspension: from here on the fiber's old tickets are stale.
void Kernel::awaken(FiberBlock& fiber, sim::Wake wake) {
  HOOKE_CHECK(fiber.state == FiberBlock::State::parked, "only a parked fiber becomes ready");
  HOOKE_CHECK(fiber.group != nullptr, "a fiber that becomes ready has a group");
  if (wake == sim::Wake::woken) cancel_deadline(fiber);
  fiber.deadline = {};
  fiber.wake = wake;
  fiber.cause = cause_;
  // Where the fiber may sleep on, its ticket is good until it does not.
  if (fiber.sleeper == nullptr || wake == sim::Wake::woken) ++fiber.generation;
  fiber.state = FiberBlock::State::ready;
}

void Kernel::queue(FiberBlock& fiber) {
  HOOKE_CHECK(fiber.state == FiberBlock::State::ready, "what waits in the queue is ready");
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
  HOOKE_CHECK(fiber->group != nullptr, "a fiber that is waited for lives");
  fiber->joiners.push_back(mine);
  static_cast<void>(park(mine, std::nullopt));
}

}  // namespace hooke::kernel
