// A killed group lets its fibers unwind one at a time; a paused one holds back those that are
// ready.
#include <algorithm>
#include <utility>

#include "sim/kernel/kernel_parts.h"
#include "sim/port/check.h"

namespace hooke::kernel {

FiberGroup::FiberGroup(Kernel& kernel, HoldUpObserver on_hold_up)
    : kernel_(kernel), on_hold_up_(std::move(on_hold_up)), number_(kernel.groups_++) {}

FiberGroup::~FiberGroup() {
  HOOKE_CHECK(fibers_.empty(), "a fiber group is destroyed only when its fibers have ended");
  HOOKE_CHECK(held_.empty() && dying_.empty() && unwinding_ == nullptr,
              "no ended fiber is held back or about to unwind");
}

void FiberGroup::kill() {
  if (killed_) return;
  killed_ = true;
  paused_ = false;
  held_.clear();
  bool queued = false;
  for (FiberBlock* fiber : fibers_) {
    HOOKE_CHECK(fiber->state != FiberBlock::State::free, "a fiber of a group has not ended");
    if (fiber->state == FiberBlock::State::running) continue;
    kernel_.cancel(std::exchange(fiber->held_up, {}));
    if (fiber->state == FiberBlock::State::parked) {
      kernel_.cancel_deadline(*fiber);
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

void Kernel::withdraw_ready() {
  impl_->ready.remove_if([](FiberBlock* fiber) {
    if (fiber->group->killed_) return false;  // it is on its way out
    fiber->state = FiberBlock::State::parked;
    return true;
  });
}

void FiberGroup::let_next_unwind() {
  unwinding_ = nullptr;
  if (dying_.empty()) return;
  HOOKE_CHECK(killed_, "fibers unwind when their group is killed");
  unwinding_ = dying_.back();
  dying_.pop_back();
  kernel_.impl_->ready.push(unwinding_);
}

bool FiberGroup::kill_fiber(std::string_view name) {
  const auto found = std::find_if(fibers_.begin(), fibers_.end(), [&](const FiberBlock* fiber) {
    return fiber->name == name && !fiber->doomed;
  });
  if (killed_ || found == fibers_.end()) return false;
  HOOKE_CHECK((*found)->state != FiberBlock::State::free, "a fiber that is killed lives");
  (*found)->doomed = true;
  if ((*found)->state == FiberBlock::State::parked) {
    kernel_.make_ready(**found, sim::Wake::woken);
  }
  return true;
}

std::size_t FiberGroup::move_deadlines(const std::function<sim::WorldTime(sim::WorldTime)>& moved) {
  std::size_t count = 0;
  for (FiberBlock* fiber : fibers_) {
    HOOKE_CHECK(fiber->group == this, "a fiber is in the group that lists it");
    const bool sleeps =
        fiber->state == FiberBlock::State::parked && kernel_.cancel_deadline(*fiber);
    if (!sleeps) continue;
    kernel_.arm_deadline(*fiber, std::max(moved(fiber->deadline_at), kernel_.now()));
    ++count;
  }
  return count;
}

void FiberGroup::pause() {
  if (killed_) return;
  paused_ = true;
  for (FiberBlock* fiber : fibers_) kernel_.stir(*fiber);
}

void FiberGroup::resume() {
  paused_ = false;
  for (FiberBlock* fiber : std::exchange(held_, {})) kernel_.impl_->ready.push(fiber);
}

}  // namespace hooke::kernel
