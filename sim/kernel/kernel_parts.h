#pragma once
// What the parts of the kernel share: the record of a fiber, and the queues. Internal to the
// kernel: kernel.cpp is the loop, due.cpp what time brings, fibers.cpp the life of a fiber,
// fiber_groups.cpp what happens to all fibers of a process.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/contexts.h"
#include "sim/kernel/host_limits.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/ready_queue.h"
#include "sim/kernel/rests.h"
#include "sim/kernel/timer_queue.h"

namespace hooke::kernel {

/// A pooled fiber and the task it carries. `id` names the task: slot in the low half, incarnation
/// in the high half, so that it is unique in a run and found without a search.
struct alignas(64) FiberBlock {
  enum class State : unsigned char { free, ready, running, parked };
  static constexpr std::uint32_t kNoPlace = 0xffffffffU;

  // What each wake needs comes first: two lines of the caches.
  FiberGroup* group = nullptr;
  std::uint64_t id = 0;
  std::uint64_t generation = 0;
  Sleeper* sleeper = nullptr;  ///< of its park; null: none
  TimerId deadline;
  sim::WorldTime deadline_at{};
  sim::EventId cause{};
  State state = State::free;
  sim::Wake wake = sim::Wake::woken;
  bool woken_early : 1 = false;    ///< wake() came between ticket() and park()
  bool doomed : 1 = false;         ///< killed alone, see FiberGroup::kill_fiber
  bool step_counted : 1 = false;   ///< the step that it is about to make
  bool rests : 1 = false;          ///< its deadline is one of the rests
  std::uint32_t place = kNoPlace;  ///< among the rests
  Context context;
  const std::byte* frame = nullptr;  ///< of its last park
  std::function<void()> body;
  Kernel* kernel = nullptr;
  std::size_t index_in_group = 0;
  std::uint64_t born = 0;  ///< number of the spawn
  TimerId held_up;         ///< ready, but its turn comes only then
  std::string name;
  std::vector<sim::ParkTicket> joiners;

  [[nodiscard]] bool killed() const { return doomed || group->killed(); }
  static void run_tasks(void* self);
  static void deadline_passed(void*, std::uint64_t) {}
  static void let_go(void* self, std::uint64_t);
};

struct Kernel::Impl {
  std::vector<std::unique_ptr<FiberBlock>> blocks;
  Contexts contexts;  ///< goes before the blocks, which its fibers run in
  std::vector<FiberBlock*> free_blocks;
  std::size_t live_fibers = 0;
  std::uint64_t spawned = 0;
  TimerQueue timers;
  Rests rests;
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

  FiberBlock* fire(Kernel& kernel, const TimerQueue::Due& due);
  bool dozes(Kernel& kernel, const Rests::Rest& rest);
  /// The rest that ends before the next timer fires; null: there is none.
  const Rests::Rest* next_rest() {
    const Rests::Rest* const rest = rests.first();
    return rest != nullptr && timers.fires_none_before(rest->time, rest->order) ? rest : nullptr;
  }
  FiberBlock* find(std::uint64_t id) {
    const std::size_t slot = id & 0xffffffffU;
    if (slot >= blocks.size() || blocks[slot]->id != id) return nullptr;
    return blocks[slot].get();
  }
};

/// The text of the exception that is being handled; only inside a catch block.
std::string describe_current_exception();

}  // namespace hooke::kernel
