#pragma once
// Which ready fiber runs next. Fibers that are ready at the same instant of virtual time may run in
// any order, as on a real machine; each strategy searches those orders in its own way. All of them
// draw from the choice source of the run, and where it answers 0 they take the fiber that has
// waited longest: with an all-zero tape every strategy is first-in first-out.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/choice.h"
#include "sim/port/time.h"

namespace hooke::kernel {

enum class Strategy : unsigned char {
  fifo,    ///< in the order they became ready
  random,  ///< each of the ready fibers is as likely
  walk,    ///< each of the processes with a ready fiber is as likely: one with many does not crowd
           ///< out the others
  pct,     ///< priorities drawn once, lowered at `depth` moments; finds with a known probability
           ///< what takes that many constraints (Burckhardt et al., ASPLOS 2010)
  delays,  ///< in order, but at `depth` moments the next one is held up for a while, as by a busy
           ///< machine (Emmi, Qadeer, Rakamaric, POPL 2011, with delays in virtual time)
  holds,   ///< in order, but a service may meet the requests of several machines in another: the
           ///< world's own search, see sim/world/request_order.h
};

/// "fifo", "random", "walk", "pct", "delays", "holds".
std::string_view to_string(Strategy strategy);
/// All of them.
std::vector<std::string> strategy_names();
/// nullopt for an unknown name.
std::optional<Strategy> strategy_from(std::string_view name);

struct Schedule {
  static constexpr std::int64_t kDepthMax = 1'000;

  // NOLINTNEXTLINE(google-explicit-constructor): a strategy is a schedule of the usual depth.
  Schedule(Strategy chosen = Strategy::fifo, std::int64_t deep = 3)
      : strategy(chosen), depth(deep) {}

  Strategy strategy;
  std::int64_t depth;  ///< of pct and delays; 0 to kDepthMax
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// What a scheduler may know of a ready fiber: numbers that count spawns and processes.
struct ReadyFiber {
  std::uint64_t fiber = 0;
  std::uint64_t process = 0;
};

class Scheduler {
 public:
  /// Fibers behind so many that have waited longer are not looked at.
  static constexpr std::size_t kSeen = 32;

  /// `choices` must outlive it.
  Scheduler(ChoiceSource& choices, Schedule schedule);

  [[nodiscard]] bool in_order() const {
    return schedule_.strategy == Strategy::fifo || schedule_.strategy == Strategy::delays ||
           schedule_.strategy == Strategy::holds;
  }
  /// Which of the fibers, the one that has waited longest first, runs next. At least two, at most
  /// kSeen.
  std::size_t pick(std::span<const ReadyFiber> ready);
  [[nodiscard]] bool may_hold_up() const { return schedule_.strategy == Strategy::delays; }
  /// For how long the fiber that is about to run is held up instead; usually zero.
  sim::Duration hold_up();

 private:
  std::size_t pick_process(std::span<const ReadyFiber> ready);
  std::size_t pick_by_priority(std::span<const ReadyFiber> ready);
  std::uint64_t priority_of(std::uint64_t fiber);
  bool moment_has_come();

  Schedule schedule_;
  ChoiceSource& choices_;
  Stream draws_;
  std::vector<std::uint64_t> moments_;  ///< steps at which something happens, the next one last
  std::uint64_t steps_ = 0;
  std::map<std::uint64_t, std::uint64_t> priorities_;  ///< 0: lowered
};

}  // namespace hooke::kernel
