// The deadline is one of the wall clock, as every timer's; what is measured is not.
#include "model/timer/group_timer.h"

#include <charconv>
#include <stdexcept>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

std::optional<sim::Duration> group_limit(const std::map<std::string, std::string>& environment) {
  constexpr std::int64_t kLongestMs = 86'400'000;  // a day, as of every option that is a span
  const auto found = environment.find(kTimerLimitVariable);
  if (found == environment.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > kLongestMs) {
    throw std::invalid_argument(std::string(kTimerLimitVariable) +
                                ": expected milliseconds from 1 to 86400000, got \"" + text + "\"");
  }
  return std::chrono::milliseconds(limit);
}

GroupTimer::GroupTimer(sim::Clock& clock, std::shared_ptr<TimerClient> client, std::string scope,
                       sim::Duration limit)
    : clock_(clock), client_(std::move(client)), scope_(std::move(scope)), limit_(limit) {
  if (limit_ <= sim::Duration::zero()) {
    throw std::invalid_argument("the limit of a timer must be above 0");
  }
  if (client_ == nullptr) throw std::invalid_argument("a timer needs a client");
}

void GroupTimer::start() {
  client_->acquire(scope_, clock_.wall_now() + limit_);
  begun_ = clock_.monotonic_now();
}

sim::Duration GroupTimer::stop() {
  if (!begun_) return sim::Duration::zero();
  client_->release(scope_);
  took_ = elapsed();
  HOOKE_CHECK(took_ >= sim::Duration::zero(), "a monotonic clock goes forward");
  begun_.reset();
  return took_;
}

sim::Duration GroupTimer::elapsed() const {
  HOOKE_CHECK(!begun_ || *begun_ <= clock_.monotonic_now(), "what is measured has begun");
  return begun_ ? clock_.monotonic_now() - *begun_ : took_;
}

}  // namespace hooke::model
