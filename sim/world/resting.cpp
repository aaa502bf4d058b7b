#include "sim/world/resting.h"

#include <utility>

#include "sim/port/check.h"
#include "sim/world/process_table.h"
#include "sim/world/sim_process.h"

namespace hooke::world {
namespace {

/// Of how many looks a lookout is asked at once, at most: a power of two.
constexpr std::int64_t kLooksAhead = 16;

}  // namespace

std::optional<sim::WorldTime> Resting::sleeps_on() {
  if (!process_.pending_.empty()) return std::nullopt;
  const auto next_look = lookout_.sleeps_on();
  if (!next_look || *next_look == sim::MonotonicTime::max()) return std::nullopt;
  ask_ahead(process_.table_.kernel().now(), *next_look);
  return process_.due(*next_look);
}

void Resting::lies_down(sim::WorldTime first_look) {
  const kernel::Kernel& kernel = process_.table_.kernel();
  fiber_ = kernel.ticket().fiber;
  // Clocks whose faults have not been felt yet are looked at by a look alone.
  if (process_.dead() || !process_.machine_.unfelt_clock_faults.empty()) return;
  if (!process_.machine_.clock.is_even(kernel.now())) return;
  const auto next_look = asked_ahead(first_look - kernel.now());
  if (next_look && *next_look != sim::MonotonicTime::max()) ask_ahead(first_look, *next_look);
}

void Resting::ask_again() {
  if (std::exchange(dozes_, false)) process_.table_.kernel().doze(fiber_, {});
}

std::optional<sim::MonotonicTime> Resting::asked_ahead(sim::Duration ahead) {
  HOOKE_CHECK(process_.ahead_ == sim::Duration::zero(), "one look ahead at a time");
  process_.ahead_ = ahead;
  const auto next_look = lookout_.sleeps_on();
  process_.ahead_ = {};
  return next_look;
}

/// What sees nothing at a later look, if nothing happens until then, sees nothing before.
void Resting::ask_ahead(sim::WorldTime look, sim::MonotonicTime next_look) {
  kernel::Kernel& kernel = process_.table_.kernel();
  const sim::Duration apart = process_.due(next_look) - look;
  if (!process_.machine_.clock.is_even(kernel.now()) || apart <= sim::Duration::zero()) return;
  std::int64_t looks = kLooksAhead;
  while (looks > 0 &&
         asked_ahead(look - kernel.now() + looks * apart) != next_look + looks * apart) {
    looks /= 2;
  }
  dozes_ = true;
  kernel.doze(fiber_, {look + looks * apart, apart});
}

}  // namespace hooke::world
