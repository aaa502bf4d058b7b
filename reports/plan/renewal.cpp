// A course is one loop: calm until the next failure, then what the failure costs.
#include "reports/plan/renewal.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/kernel/choice.h"

namespace hooke::report {
namespace {

/// One course of a job.
class Walk {
 public:
  Walk(const JobPlan& plan, const Episodes& episodes, sim::Duration length, Draws& draws)
      : plan_(plan), episodes_(episodes), left_(length), draws_(draws) {}

  Course run() {
    next_ = draws_.next();
    while (left_ > sim::Duration::zero()) {
      if (trains_) {
        train();
      } else {
        launch();
      }
    }
    return course_;
  }

 private:
  const Episode& one_of(EpisodeKind kind) {
    const auto& all = episodes_.at(kind);
    return all[draws_.pick(all.size())];
  }

  /// False: a node or worker failed, or the course was over, before the whole span had passed.
  bool spend(sim::Duration span, Use use) {
    const sim::Duration real = std::min({span, left_, next_.after});
    book(real, use);
    pass(real);
    return real == span;
  }
  void book(sim::Duration span, Use use) { course_.spent[static_cast<std::size_t>(use)] += span; }

  // ---- nodes ------------------------------------------------------------------------------------

  /// Under repair beyond the spares.
  [[nodiscard]] std::int64_t missing() const {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(back_at_.size()) - plan_.spares);
  }
  [[nodiscard]] bool has_spare() const {
    return static_cast<std::int64_t>(back_at_.size()) < plan_.spares;
  }
  void come_back() { back_at_.erase(back_at_.begin(), back_at_.upper_bound(now_)); }
  /// When there will be enough nodes to train.
  [[nodiscard]] sim::Duration enough_at() const {
    const std::int64_t lacking = missing() - (plan_.nodes - plan_.min_nodes);
    return lacking <= 0 ? now_ : *std::next(back_at_.begin(), lacking - 1);
  }

  // ---- calm -------------------------------------------------------------------------------------

  /// Until the next failure, the return of a node that is missing, or the end.
  void train() {
    come_back();
    const sim::Duration until_return =
        missing() > 0 ? *back_at_.begin() - now_ : sim::Duration::max();
    const sim::Duration span = std::min({next_.after, left_, until_return});
    account_for(span);
    if (left_ <= sim::Duration::zero()) return;
    if (next_.after <= sim::Duration::zero()) {
      fail();
    } else {
      come_back();
      go_through(one_of(EpisodeKind::node_is_added));
    }
  }

  /// Training, interrupted at its end unless the course is over then: what is not yet saved must be
  /// done again.
  void account_for(sim::Duration span) {
    const bool over = span == left_;
    const sim::Duration cycle = plan_.checkpoint + plan_.save;
    const std::int64_t saved = span / cycle;
    const sim::Duration rest = span - saved * cycle;
    const sim::Duration trained = std::min(rest, plan_.checkpoint);
    book(saved * plan_.save + (rest - trained), Use::saving);
    const sim::Duration kept = saved * plan_.checkpoint + (over ? trained : sim::Duration::zero());
    const sim::Duration useful = kept / plan_.nodes * (plan_.nodes - missing());
    book(useful, Use::useful);
    book(kept - useful, Use::fewer);
    book(over ? sim::Duration::zero() : trained, Use::redone);
    pass(span);
  }
  void pass(sim::Duration span) {
    left_ -= span;
    now_ += span;
    next_.after -= span;
  }

  // ---- failures ---------------------------------------------------------------------------------

  void fail() {
    ++course_.failures;
    const NextFailure failure = next_;
    next_ = draws_.next();
    come_back();
    const bool spare = has_spare();
    if (failure.of_node) back_at_.insert(now_ + plan_.repair);
    const bool host =
        failure.of_node && failure.of_host && episodes_.contains(EpisodeKind::host_is_lost);
    const EpisodeKind gone = host ? EpisodeKind::host_is_lost : EpisodeKind::node_is_gone;
    if (enough_at() > now_) {
      wait_for_nodes(one_of(gone));
    } else if (!failure.of_node) {
      go_through(one_of(EpisodeKind::worker_fails));
    } else {
      go_through(one_of(spare && !host ? EpisodeKind::spare_at_hand : gone));
    }
  }

  /// The job stands still until enough nodes are back, if its agents wait so long. `gone`: what
  /// they do when none comes.
  void wait_for_nodes(const Episode& gone) {
    const sim::Duration back = enough_at();
    const auto returns = episodes_.find(EpisodeKind::node_returns);
    if (gone.whole() <= back - now_ || returns == episodes_.end()) return go_through(gone);
    const Episode& episode = one_of(EpisodeKind::node_returns);
    if (!spend(std::max(back - now_ - kAway, sim::Duration::zero()), Use::waiting)) {
      if (left_ > sim::Duration::zero()) fail();
      return;
    }
    back_at_.erase(back_at_.begin(), back_at_.upper_bound(back));
    go_through(episode);
  }

  /// Another failure meanwhile begins an episode of its own.
  void go_through(const Episode& episode) {
    const bool in_vain = episode.charged && restarts_ == 0;
    if (episode.charged) restarts_ = std::max<std::int64_t>(0, restarts_ - 1);
    const bool trains = episode.ending == Ending::trains && !in_vain;
    const bool whole = spend(episode.detection, Use::detection) &&
                       (in_vain || spend(episode.rendezvous, Use::rendezvous)) &&
                       (!trains || spend(episode.restart + plan_.load, Use::restart));
    if (left_ <= sim::Duration::zero()) return;
    if (in_vain || (whole && !trains)) return end();
    if (!whole) fail();
  }

  void end() {
    ++course_.ends;
    trains_ = false;
  }

  /// By a person or a scheduler, when enough nodes are there.
  void launch() {
    if (was_launched_) wait(plan_.relaunch, Use::relaunch);
    was_launched_ = true;
    come_back();
    wait(enough_at() - now_, Use::waiting);
    come_back();
    restarts_ = plan_.max_restarts;
    const Episode& start = one_of(EpisodeKind::start);
    wait(start.rendezvous, Use::rendezvous);
    if (start.ending != Ending::trains) {
      ++course_.starts_in_vain;
      return;
    }
    wait(start.restart + plan_.load, Use::restart);
    trains_ = true;
  }
  /// Before the job trains: the loss of a node costs no training then.
  void wait(sim::Duration span, Use use) {
    const sim::Duration real = std::clamp(span, sim::Duration::zero(), left_);
    book(real, use);
    left_ -= real;
    now_ += real;
  }

  const JobPlan& plan_;
  const Episodes& episodes_;
  sim::Duration left_;
  Draws& draws_;
  Course course_;
  sim::Duration now_{};
  NextFailure next_;
  bool was_launched_ = false, trains_ = false;
  std::int64_t restarts_ = 0;
  std::multiset<sim::Duration> back_at_;  ///< when nodes under repair are back
};

/// Failures at constant rates.
class ExponentialDraws final : public Draws {
 public:
  ExponentialDraws(const JobPlan& plan, std::uint64_t seed, std::uint64_t course)
      : plan_(plan), source_(seed), stream_(source_, "plan.course", course) {}

  NextFailure next() override {
    const double nodes = 1.0 / in_seconds(plan_.node_failures);
    const double workers = plan_.worker_failures ? 1.0 / in_seconds(*plan_.worker_failures) : 0.0;
    NextFailure out;
    const double after = -std::log(1.0 - uniform()) / (nodes + workers);
    out.after = std::chrono::duration_cast<sim::Duration>(
        std::chrono::duration<double>(std::min(after, 1e9)));
    out.of_node = uniform() * (nodes + workers) < nodes;
    out.of_host = stream_.below(static_cast<std::uint64_t>(plan_.nodes)) == 0;
    return out;
  }
  std::size_t pick(std::size_t count) override {
    return static_cast<std::size_t>(stream_.below(count));
  }

 private:
  /// From 0 to below 1.
  double uniform() {
    constexpr std::uint64_t kSteps = std::uint64_t{1} << 53U;
    return static_cast<double>(stream_.below(kSteps)) / static_cast<double>(kSteps);
  }

  const JobPlan& plan_;
  kernel::SeededSource source_;
  kernel::Stream stream_;
};

}  // namespace

sim::Duration Course::whole() const {
  return std::accumulate(spent.begin(), spent.end(), sim::Duration::zero());
}

double Course::ratio() const {
  const auto all = whole();
  return all == sim::Duration::zero()
             ? 0
             : static_cast<double>(of(Use::useful).count()) / static_cast<double>(all.count());
}

Course follow(const JobPlan& plan, const Episodes& episodes, sim::Duration length, Draws& draws) {
  return Walk(plan, episodes, length, draws).run();
}

Forecast forecast(const JobPlan& plan, const Episodes& episodes, sim::Duration length,
                  std::int64_t courses, std::uint64_t seed) {
  Forecast out;
  std::vector<double> ratios;
  for (std::int64_t i = 0; i < courses; ++i) {
    ExponentialDraws draws(plan, seed, static_cast<std::uint64_t>(i));
    const Course course = follow(plan, episodes, length, draws);
    ratios.push_back(course.ratio());
    for (std::size_t use = 0; use < kUses; ++use) {
      out.shares[use] += static_cast<double>(course.spent[use].count()) /
                         static_cast<double>(course.whole().count()) / static_cast<double>(courses);
    }
    out.failures += static_cast<double>(course.failures) / static_cast<double>(courses);
    out.ends += static_cast<double>(course.ends) / static_cast<double>(courses);
    out.starts_in_vain += static_cast<double>(course.starts_in_vain) / static_cast<double>(courses);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](std::int64_t percent) {
    return ratios[static_cast<std::size_t>((courses - 1) * percent / 100)];
  };
  out.low = at(5);
  out.high = at(95);
  out.mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(courses);
  return out;
}

}  // namespace hooke::report
