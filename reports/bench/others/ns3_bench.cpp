// The workload of kernel_bench with ns-3's events: N actors that sleep, wake and sleep again. ns-3
// has no fibers: an actor is a function that an event calls, so that this stands beside
// bare_callbacks. The queue of events is the one of ns-3 that plays this fastest; its default, a map,
// takes 1.4 times as long. A program of its own: nothing of hooke is linked to ns-3, which is under
// the GPL.
#include <benchmark/benchmark.h>
#include <ns3/global-value.h>
#include <ns3/nstime.h>
#include <ns3/simulator.h>
#include <ns3/string.h>

#include <vector>

#include "reports/bench/naps.h"

namespace hooke::bench {
namespace {

struct Actor {
  std::uint64_t number, turn;
  std::uint64_t* wakes;

  static void sleep(Actor* self) {
    const auto nap = static_cast<std::uint64_t>(nap_ns(self->number, self->turn++));
    ns3::Simulator::Schedule(ns3::NanoSeconds(nap), &wake, self);
  }
  static void wake(Actor* self) {
    if (++*self->wakes == kWakes) ns3::Simulator::Stop();
    sleep(self);
  }
};

void ns3_callbacks(benchmark::State& state) {
  ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::PriorityQueueScheduler"));
  for (auto _ : state) {
    state.PauseTiming();
    std::uint64_t wakes = 0;
    std::vector<Actor> actors;
    actors.reserve(static_cast<std::size_t>(state.range(0)));
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(state.range(0)); ++i) {
      actors.push_back({i, 0, &wakes});
      Actor::sleep(&actors.back());
    }
    state.ResumeTiming();
    ns3::Simulator::Run();
    state.PauseTiming();
    if (wakes != kWakes) state.SkipWithError("ns-3 has not played the wakes of the workload");
    ns3::Simulator::Destroy();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kWakes) * state.iterations());
}

BENCHMARK(ns3_callbacks)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hooke::bench

BENCHMARK_MAIN();
