#pragma once
// A kernel with a run begun, for tests that need nothing more than fibers and timers.

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "sim/kernel/kernel.h"

namespace hooke::kernel {

class TestKernel {
 public:
  explicit TestKernel(std::uint64_t seed = 0, Schedule schedule = {}, RunLimits limits = {})
      : choices(seed) {
    kernel.begin(choices, trace, limits, schedule);
  }
  ~TestKernel() { finish(); }

  /// Kills and unwinds what is left.
  void finish() {
    group.kill();
    kernel.drain();
  }

  TimerId at(sim::WorldTime when, std::function<void()> action) {
    actions_.push_back(std::move(action));
    return kernel.at(when, {[](void* context, std::uint64_t) {
                              (*static_cast<std::function<void()>*>(context))();
                            },
                            &actions_.back(), 0});
  }
  sim::FiberId spawn(std::string name, std::function<void()> body) {
    return kernel.spawn(group, std::move(name), std::move(body));
  }
  void sleep(sim::Duration span) { kernel.park(kernel.ticket(), kernel.now() + span); }

  SeededSource choices;
  TraceRecorder trace;
  Kernel kernel;
  FiberGroup group{kernel};

 private:
  std::list<std::function<void()>> actions_;
};

}  // namespace hooke::kernel
