// What a virtual-timer event costs: N actors that each sleep, wake and sleep again. Three ways in
// one run, so that ratios can be quoted: fibers of the kernel, callbacks of the kernel, and the
// bare loop over a timer queue with neither trace, limits nor causes. The programs in others/ play
// the same with other simulators, and reports/bench/kernel makes one table of all.
#include <benchmark/benchmark.h>

#include <vector>

#include "reports/bench/naps.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/timer_queue.h"

namespace hooke::kernel {
namespace {

using bench::kWakes;
using bench::nap_ns;

void bare_callbacks(benchmark::State& state) {
  struct Actor {
    TimerQueue* timers;
    std::int64_t* now;
    std::uint64_t number, turn;
    static void fire(void* self, std::uint64_t) {
      auto& actor = *static_cast<Actor*>(self);
      actor.timers->arm(*actor.now + nap_ns(actor.number, actor.turn++), {&fire, self, 0}, {});
    }
  };
  const auto actors_count = static_cast<std::uint64_t>(state.range(0));
  TimerQueue timers;
  for (auto _ : state) {
    state.PauseTiming();
    timers.clear();
    std::int64_t now = 0;
    std::vector<Actor> actors;
    actors.reserve(actors_count);
    for (std::uint64_t i = 0; i < actors_count; ++i) {
      actors.push_back({&timers, &now, i, 0});
      Actor::fire(&actors.back(), 0);
    }
    state.ResumeTiming();
    for (std::uint64_t i = 0; i < kWakes; ++i) {
      const TimerQueue::Due due = timers.pop();
      now = due.time;
      due.callback.function(due.callback.context, due.callback.argument);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kWakes) * state.iterations());
}

void kernel_callbacks(benchmark::State& state) {
  struct Actor {
    Kernel* kernel;
    std::uint64_t number, turn;
    static void fire(void* self, std::uint64_t) {
      auto& actor = *static_cast<Actor*>(self);
      actor.kernel->at(actor.kernel->now() + sim::Duration(nap_ns(actor.number, actor.turn++)),
                       {&fire, self, 0});
    }
  };
  Kernel kernel;
  for (auto _ : state) {
    state.PauseTiming();
    QuietSource choices;
    TraceRecorder trace;
    RunLimits limits;
    limits.steps_max = kWakes;
    kernel.begin(choices, trace, limits, Strategy::fifo);
    std::vector<Actor> actors;
    actors.reserve(static_cast<std::size_t>(state.range(0)));
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(state.range(0)); ++i) {
      actors.push_back({&kernel, i, 0});
      Actor::fire(&actors.back(), 0);
    }
    state.ResumeTiming();
    kernel.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kWakes) * state.iterations());
}

void kernel_fibers(benchmark::State& state) {
  const auto actors_count = static_cast<std::uint64_t>(state.range(0));
  Kernel kernel;
  for (auto _ : state) {
    state.PauseTiming();
    QuietSource choices;
    TraceRecorder trace;
    RunLimits limits;
    // Every fiber runs once and sleeps for the first time before measuring begins, which a callback
    // ends: so many steps are not measured.
    limits.steps_max = actors_count + 1 + kWakes;
    kernel.begin(choices, trace, limits, Strategy::fifo);
    FiberGroup group(kernel);
    for (std::uint64_t i = 0; i < actors_count; ++i) {
      kernel.spawn(group, "actor", [&kernel, i] {
        for (std::uint64_t turn = 0;; ++turn) {
          kernel.park(kernel.ticket(), kernel.now() + sim::Duration(nap_ns(i, turn)));
        }
      });
    }
    kernel.at({},
              {[](void* self, std::uint64_t) { static_cast<Kernel*>(self)->stop(); }, &kernel, 0});
    kernel.run();
    state.ResumeTiming();
    kernel.run();
    state.PauseTiming();
    if (kernel.steps() != limits.steps_max) state.SkipWithError("not all wakes have been played");
    group.kill();
    kernel.drain();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kWakes) * state.iterations());
}

BENCHMARK(bare_callbacks)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(kernel_callbacks)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(kernel_fibers)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hooke::kernel

BENCHMARK_MAIN();
