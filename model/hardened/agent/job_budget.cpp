// The job's count is one text, "COUNT ROUND", so that both move together. A restart that no round pays
// for adds the mark of the agent that takes it: two that take one each at the same moment would write
// the same text otherwise, and each of them would find its own.
#include "model/hardened/agent/job_budget.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/store/short_timeout.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr const char* kKey = "restarts";
constexpr std::int64_t kNoRound = -1;
/// No job has made more restarts, and sums of two such counts stay within 63 bits.
constexpr std::int64_t kSpentMax = std::int64_t{1} << 61;

/// For how long a count that is there is waited for.
constexpr sim::Duration kReplyTimeout = std::chrono::seconds(5);

struct Spent {
  std::int64_t count = 0;
  std::int64_t round = kNoRound;  ///< the latest one that was paid for
};

Value text(const Spent& spent, const std::string& mark = "") {
  const std::string counts = std::to_string(spent.count) + " " + std::to_string(spent.round);
  return Value(mark.empty() ? counts : counts + " " + mark);
}

/// What another program wrote there counts as nothing spent.
Spent parse(const Value& value) {
  const std::string& text = value.bytes();
  Spent spent;
  const char* const end = text.data() + text.size();
  const auto count = std::from_chars(text.data(), end, spent.count);
  if (count.ec != std::errc() || count.ptr == end || *count.ptr != ' ') return {};
  if (spent.count < 0 || spent.count > kSpentMax) return {};
  const auto round = std::from_chars(count.ptr + 1, end, spent.round);
  const bool marked = round.ptr != end && *round.ptr == ' ';
  if (round.ec != std::errc() || (round.ptr != end && !marked)) return {};
  return spent;
}

class JobBudget final : public RestartBudget {
 public:
  JobBudget(std::int64_t max_restarts, std::shared_ptr<Store> store, std::string mark)
      : max_restarts_(max_restarts),
        own_(make_own_budget(max_restarts)),
        mark_(std::move(mark)),
        store_(std::move(store)) {
    HOOKE_CHECK(store_ != nullptr, "the job's restart count has a store");
    HOOKE_CHECK(max_restarts_ >= 0 && mark_.find(' ') == std::string::npos,
                "the agent's mark has no blank, and max_restarts is not negative");
  }

  std::int64_t remaining(std::int64_t round) override {
    try {
      const Spent spent = latest(stored());
      silent_ = false;
      return left_of(spent, round);
    } catch (const StoreError&) {
      silent_ = true;
      return own_remaining(round);
    }
  }

  bool look() override {
    try {
      const Value held = stored();
      latest(held);
      give_back(held, known_.round);
      return true;
    } catch (const StoreError&) {
      return false;  // what was known before is known still
    }
  }

  void settle() override {
    if (known_.count > 0) look();
  }

  [[nodiscard]] bool has_untold() const override { return untold_alone_ > 0; }

  std::optional<std::int64_t> spend(std::int64_t round) override {
    const std::optional<std::int64_t> left = take(round);
    HOOKE_CHECK(!left || *left >= 0, "the number of restarts left is not negative");
    if (left) static_cast<void>(own_->spend(round));
    return left;
  }

 private:
  /// Of what is stored and what has been seen before: a count never falls. What this agent has taken
  /// in the silence comes on top of what was spent, unheard by it, by others.
  const Spent& latest(const Value& value) {
    const std::int64_t before = known_.count;
    const Spent spent = parse(value);
    // What was written was told, though the reply was lost.
    if (written_ && value == *written_) nothing_is_untold();
    std::erase_if(untold_rounds_, [&spent](std::int64_t round) { return paid(spent, round); });
    if (spent.count > told_.count) told_ = spent;
    const std::int64_t untold = untold_alone_ + std::ssize(untold_rounds_);
    const std::int64_t sum = std::min(told_.count + untold, kSpentMax);
    if (sum > known_.count) known_ = {sum, std::max(told_.round, latest_untold())};
    HOOKE_CHECK(known_.count >= before, "the job's restart count has not become smaller");
    return known_;
  }
  [[nodiscard]] std::int64_t latest_untold() const {
    return untold_rounds_.empty() ? kNoRound : std::ranges::max(untold_rounds_);
  }
  /// An agent that joins in a store that came up empty is told by those that know.
  void give_back(const Value& held, std::int64_t paid_for) {
    if (parse(held).count >= known_.count) return;
    const std::string mark = untold_alone_ > 0 ? mark_ : "";
    static_cast<void>(write(held, {known_.count, paid_for}, mark));
  }
  /// Returns what is stored then.
  Value write(const Value& held, const Spent& spent, const std::string& mark) {
    written_ = text(spent, mark);
    Value now = store_->compare_set(kKey, held, *written_);
    if (now == *written_) {
      told_ = spent;
      nothing_is_untold();
    }
    return now;
  }
  void nothing_is_untold() {
    untold_alone_ = 0;
    untold_rounds_.clear();
  }
  /// A restart that no round pays for leaves the one that was paid for last as it is.
  static Spent after(const Spent& spent, std::int64_t round) {
    return {std::min(spent.count + 1, kSpentMax), std::max(spent.round, round)};
  }
  static bool paid(const Spent& spent, std::int64_t round) {
    return round != kNoRound && spent.round >= round;
  }
  /// Empty when there is none. A store that comes up empty between the two questions is asked
  /// again: no agent may ever write what the second would wait for.
  Value stored() {
    while (store_->check({kKey})) {
      const ShortTimeout brief(*store_, kReplyTimeout);
      try {
        return store_->get(kKey);
      } catch (const StoreTimeoutError&) {
      }
    }
    return {};
  }

  [[nodiscard]] std::int64_t left_of(const Spent& spent, std::int64_t round) const {
    HOOKE_CHECK(spent.count >= 0, "the number of spent restarts is not negative");
    const std::int64_t left = std::max<std::int64_t>(max_restarts_ - spent.count, 0);
    return paid(spent, round) ? left + 1 : left;
  }

  /// While the store is silent each goes by its own count, and by what is known of the others'.
  std::int64_t own_remaining(std::int64_t round) {
    return std::min(own_->remaining(round), left_of(known_, round));
  }

  std::optional<std::int64_t> take_own(std::int64_t round) {
    const std::int64_t own = own_remaining(round);
    HOOKE_CHECK(own >= 0, "the number of restarts left is not negative");
    if (own > 0 && !paid(known_, round)) {
      if (round == kNoRound) {
        ++untold_alone_;
      } else {
        untold_rounds_.push_back(round);
      }
      known_ = after(known_, round);
    }
    return own > 0 ? std::optional(own - 1) : std::nullopt;
  }

  std::optional<std::int64_t> take(std::int64_t round) {
    // To ask takes long, too: once for each decision.
    if (std::exchange(silent_, false)) return take_own(round);
    try {
      for (Value held = stored();;) {
        const Spent spent = latest(held);
        if (paid(spent, round)) return std::max<std::int64_t>(max_restarts_ - spent.count, 0);
        if (spent.count >= std::min(max_restarts_, kSpentMax)) {
          // Agents that have begun anew may count their rounds anew, too: none of these is paid for.
          give_back(held, kNoRound);
          return std::nullopt;
        }
        const bool marked = round == kNoRound || untold_alone_ > 0;
        HOOKE_CHECK(spent.count < kSpentMax, "the number of spent restarts is below kSpentMax");
        Value now = write(held, after(spent, round), marked ? mark_ : "");
        if (now == *written_) return max_restarts_ - latest(now).count;
        held = std::move(now);
      }
    } catch (const StoreError&) {
      return take_own(round);
    }
  }

  std::int64_t max_restarts_;
  std::unique_ptr<RestartBudget> own_;
  std::string mark_;
  Spent known_;
  Spent told_;                                 ///< the most that the store has held
  std::optional<Value> written_;               ///< what this agent wrote last, or tried to
  std::vector<std::int64_t> untold_rounds_{};  ///< for which it took a restart in the silence
  std::int64_t untold_alone_ = 0;              ///< restarts that it took there for no round
  bool silent_ = false;  ///< the store did not answer when it was last asked for what remains
  std::shared_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<RestartBudget> make_job_budget(std::int64_t max_restarts,
                                               std::shared_ptr<Store> store, std::string mark) {
  return std::make_unique<JobBudget>(max_restarts, std::move(store), std::move(mark));
}

}  // namespace hooke::model
