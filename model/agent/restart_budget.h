#pragma once
// How many restarts after failures are left. PyTorch's agents count each for itself.

#include <cstdint>
#include <memory>
#include <optional>

namespace hooke::model {

class RestartBudget {
 public:
  virtual ~RestartBudget() = default;
  /// Restarts that are left for workers that failed in `round`.
  virtual std::int64_t remaining(std::int64_t round) = 0;
  /// Takes note of what has been spent so far: the store that keeps the count may lose it.
  virtual bool look() { return true; }
  /// Before the agent joins: tells the others what it knows to be spent, which they may not know.
  virtual void settle() {}
  /// Whether the others count less than was spent here, until a look() tells them: no round will.
  [[nodiscard]] virtual bool has_untold() const { return false; }
  /// Takes one for them, and returns how many are left then. nullopt: there was none.
  virtual std::optional<std::int64_t> spend(std::int64_t round) = 0;
};

/// PyTorch's (SimpleElasticAgent._remaining_restarts).
std::unique_ptr<RestartBudget> make_own_budget(std::int64_t max_restarts);

}  // namespace hooke::model
