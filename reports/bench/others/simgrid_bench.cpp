// The workload of kernel_bench with SimGrid's actors: N actors that sleep, wake and sleep again. All
// are on one host, which costs SimGrid less than a host each. Their stacks have 16 KiB and no guard
// page: memory holds 100,000 of them, and Linux allows a process no more than 65,530 mappings. A
// program of its own: nothing of hooke is linked to SimGrid, which is under the LGPL.
#include <benchmark/benchmark.h>

#include <simgrid/s4u.hpp>

#include "reports/bench/naps.h"

namespace hooke::bench {
namespace {

namespace s4u = simgrid::s4u;

/// SimGrid says each setting again, unless its log is told not to.
s4u::Engine configured() {
  char program[] = "simgrid_bench", log[] = "--log=xbt_cfg.threshold:warning",
       stack[] = "--cfg=contexts/stack-size:16", guard[] = "--cfg=contexts/guard-size:0";
  char* arguments[] = {program, log, stack, guard, nullptr};
  int count = 4;
  return s4u::Engine(&count, arguments);
}

/// The one simulation that a process can have, and its host.
struct World {
  s4u::Engine engine = configured();
  s4u::Host* host;

  World() {
    auto* const zone = s4u::create_full_zone("zone");
    host = zone->create_host("host", 1e9);
    zone->seal();
  }
};

World& world() {
  static World the_one;
  return the_one;
}

struct Run {
  std::uint64_t wakes = 0;
  bool over = false;
};

void live(Run& run, std::uint64_t number) {
  for (std::uint64_t turn = 0; !run.over; ++turn) {
    s4u::this_actor::sleep_for(static_cast<double>(nap_ns(number, turn)) * 1e-9);
    ++run.wakes;
  }
}

void simgrid_actors(benchmark::State& state) {
  World& the_world = world();
  const auto actors = static_cast<std::uint64_t>(state.range(0));
  const double span_s = end_of_wakes_ns(actors) * 1e-9;
  for (auto _ : state) {
    state.PauseTiming();
    Run run;
    const double begin_s = s4u::Engine::get_clock();
    for (std::uint64_t i = 0; i < actors; ++i) {
      s4u::Actor::create("actor", the_world.host, [&run, i] { live(run, i); });
    }
    // Every actor sleeps for the first time.
    the_world.engine.run_until(begin_s + 0.5e-9 * static_cast<double>(kNapMinNs));
    state.ResumeTiming();
    the_world.engine.run_until(begin_s + span_s);
    state.PauseTiming();
    if (run.wakes != kWakes)
      state.SkipWithError("SimGrid has not played the wakes of the workload");
    run.over = true;
    the_world.engine.run();  // each wakes once more, and ends
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kWakes) * state.iterations());
}

BENCHMARK(simgrid_actors)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hooke::bench

BENCHMARK_MAIN();
