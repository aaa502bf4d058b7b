#include "sim/kernel/schedule.h"

#include <algorithm>
#include <array>
#include <functional>

#include "sim/port/check.h"

namespace hooke::kernel {
namespace {

constexpr std::array<std::string_view, 6> kNames{"fifo", "random", "walk",
                                                 "pct",  "delays", "holds"};

/// Runs differ in length by orders of magnitude, so moments and spans are drawn by their order of
/// magnitude first.
std::uint64_t by_magnitude(Stream& draws, std::uint64_t magnitudes) {
  const std::uint64_t magnitude = draws.below(magnitudes);
  return magnitude == 0 ? 0 : (std::uint64_t{1} << magnitude) + draws.below(1U << magnitude);
}

constexpr std::uint64_t kMomentMagnitudes = 17;  // up to 131,071 steps
constexpr std::uint64_t kSpanMagnitudes = 13;    // up to 8 s, in milliseconds

}  // namespace

std::string_view to_string(Strategy strategy) {
  return kNames.at(static_cast<std::size_t>(strategy));
}

std::vector<std::string> strategy_names() {
  return {kNames.begin(), kNames.end()};
}

std::optional<Strategy> strategy_from(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Strategy>(found - kNames.begin());
}

Scheduler::Scheduler(ChoiceSource& choices, Schedule schedule)
    : schedule_(schedule), choices_(choices), draws_(choices, "kernel.schedule", 0) {
  const bool has_moments =
      schedule.strategy == Strategy::pct || schedule.strategy == Strategy::delays;
  HOOKE_CHECK(schedule.depth >= 0 && schedule.depth <= Schedule::kDepthMax,
              "the depth of a schedule is within its bounds");
  if (!has_moments) return;
  Stream moments(choices, "kernel.moment", 0);
  for (std::int64_t i = 0; i < schedule.depth; ++i) {
    const std::uint64_t moment = by_magnitude(moments, kMomentMagnitudes);
    if (moment != 0) moments_.push_back(moment);
  }
  std::sort(moments_.begin(), moments_.end(), std::greater<>());
}

std::size_t Scheduler::pick(std::span<const ReadyFiber> ready) {
  HOOKE_CHECK(ready.size() >= 2 && ready.size() <= kSeen,
              "there is a choice, among as many as are looked at");
  switch (schedule_.strategy) {
    case Strategy::walk: return pick_process(ready);
    case Strategy::pct: return pick_by_priority(ready);
    case Strategy::random: return draws_.below(ready.size());
    case Strategy::fifo:
    case Strategy::delays:
    case Strategy::holds: break;
  }
  return 0;
}

/// The oldest fiber of a drawn process; processes in the order of their oldest.
std::size_t Scheduler::pick_process(std::span<const ReadyFiber> ready) {
  std::array<std::size_t, kSeen> oldest{};
  std::size_t processes = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const bool seen = std::any_of(oldest.begin(), oldest.begin() + processes, [&](std::size_t j) {
      return ready[j].process == ready[i].process;
    });
    if (!seen) oldest[processes++] = i;
  }
  HOOKE_CHECK(processes >= 1 && processes <= ready.size(), "each ready fiber is of a process");
  return oldest[draws_.below(processes)];
}

std::size_t Scheduler::pick_by_priority(std::span<const ReadyFiber> ready) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < ready.size(); ++i) {
    if (priority_of(ready[i].fiber) > priority_of(ready[best].fiber)) best = i;
  }
  HOOKE_CHECK(best < ready.size(), "the fiber that wins is one of the ready ones");
  // The one that would win from now on loses against all others.
  if (moment_has_come()) priorities_[ready[best].fiber] = 0;
  return best;
}

std::uint64_t Scheduler::priority_of(std::uint64_t fiber) {
  const auto [found, is_new] = priorities_.try_emplace(fiber);
  if (is_new) {
    found->second = 1 + Stream(choices_, "kernel.priority", fiber).below(std::uint64_t{1} << 32U);
  }
  return found->second;
}

sim::Duration Scheduler::hold_up() {
  if (schedule_.strategy != Strategy::delays || !moment_has_come()) return {};
  HOOKE_CHECK(schedule_.strategy == Strategy::delays, "only delays hold a fiber up");
  return std::chrono::milliseconds(by_magnitude(draws_, kSpanMagnitudes));
}

bool Scheduler::moment_has_come() {
  ++steps_;
  if (moments_.empty() || steps_ < moments_.back()) return false;
  moments_.pop_back();
  return true;
}

}  // namespace hooke::kernel
