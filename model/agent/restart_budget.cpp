#include "model/agent/restart_budget.h"

#include "sim/port/check.h"

namespace hooke::model {
namespace {

class OwnBudget final : public RestartBudget {
 public:
  explicit OwnBudget(std::int64_t max_restarts) : remaining_(max_restarts) {
    HOOKE_CHECK(max_restarts >= 0, "the settings have passed validation");
  }
  std::int64_t remaining(std::int64_t) override { return remaining_; }
  std::optional<std::int64_t> spend(std::int64_t) override {
    HOOKE_CHECK(remaining_ >= 0, "the number of remaining restarts is not negative");
    if (remaining_ == 0) return std::nullopt;
    return --remaining_;
  }

 private:
  std::int64_t remaining_;
};

}  // namespace

std::unique_ptr<RestartBudget> make_own_budget(std::int64_t max_restarts) {
  return std::make_unique<OwnBudget>(max_restarts);
}

}  // namespace hooke::model
