#pragma once
// The workload of kernel_bench and of the programs in others/, so that their figures can stand in
// one table: N actors that sleep for drawn times, wake and sleep again. When measuring begins, each
// sleeps for the first time.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace hooke::bench {

/// Wakes that are measured at a time, each with the arming of the next sleep.
constexpr std::uint64_t kWakes = 1'000'000;

/// No sleep is shorter.
constexpr std::int64_t kNapMinNs = 1'000'000;

/// A sleep between 1 and 2 ms, different for each actor and turn, cheap to compute.
inline std::int64_t nap_ns(std::uint64_t actor, std::uint64_t turn) {
  return kNapMinNs + static_cast<std::int64_t>((actor * 7919 + turn * 104'729) % 1'000'000);
}

/// A time in nanoseconds up to which `actors` that begin at 0 wake kWakes times: between the last of
/// these wakes and the one after it. For simulators that stop at a time and not at a count.
inline double end_of_wakes_ns(std::uint64_t actors) {
  struct Wake {
    std::int64_t at_ns;
    std::uint64_t actor, turn;
    bool operator>(const Wake& other) const { return at_ns > other.at_ns; }
  };
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> sleeping;
  for (std::uint64_t i = 0; i < actors; ++i) sleeping.push({nap_ns(i, 0), i, 0});
  std::int64_t last_ns = 0;
  for (std::uint64_t i = 0; i < kWakes; ++i) {
    const Wake wake = sleeping.top();
    sleeping.pop();
    last_ns = wake.at_ns;
    sleeping.push({wake.at_ns + nap_ns(wake.actor, wake.turn + 1), wake.actor, wake.turn + 1});
  }
  return (static_cast<double>(last_ns) + static_cast<double>(sleeping.top().at_ns)) / 2;
}

}  // namespace hooke::bench
