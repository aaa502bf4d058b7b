// What the kernel believes of its queues and choices is checked in every build.
#include <gtest/gtest.h>

#include "sim/kernel/choice.h"
#include "sim/kernel/ready_queue.h"
#include "sim/kernel/timer_queue.h"

namespace hooke::kernel {
namespace {

/// Answers with a number that is no alternative.
class BeyondTheBound final : public ChoiceSource {
 public:
  std::uint64_t choose(const ChoicePoint&, std::uint64_t bound) override { return bound; }
};

TEST(KernelBeliefs, an_empty_queue_of_timers_gives_none) {
  TimerQueue timers;
  EXPECT_DEATH(static_cast<void>(timers.pop()), "has an earliest one");
}

TEST(KernelBeliefs, a_queue_of_ready_fibers_gives_only_what_it_holds) {
  ReadyQueue<int> ready;
  ready.push(7);
  EXPECT_DEATH(static_cast<void>(ready.take(1)), "only an element of the queue is taken");
}

TEST(KernelBeliefs, a_draw_is_below_its_bound) {
  BeyondTheBound source;
  Stream draws(source, "test", 0);
  EXPECT_DEATH(static_cast<void>(draws.below(6)), "a draw is below its bound");
}

}  // namespace
}  // namespace hooke::kernel
