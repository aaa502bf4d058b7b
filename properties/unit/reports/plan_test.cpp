// hooke plan: episodes as the protocol plays them, weeks as arithmetic, and both against figures that
// are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/observe/trace_events.h"
#include "reports/plan/plan_text.h"
#include "scenarios/outcome/trigger.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
using testing::HasSubstr;
using testing::Not;

/// Episodes of which each that follows a failure takes `stall`.
Episodes stalls_of(sim::Duration stall) {
  Episodes out;
  for (std::size_t kind = 0; kind < kEpisodeKinds; ++kind) {
    Episode episode{Ending::trains, stall, {}, {}, false, 1};
    if (kind == 0) episode.detection = {};
    out[static_cast<EpisodeKind>(kind)] = {episode};
  }
  return out;
}

/// A job that loses nothing but what a test says.
JobPlan bare_job(sim::Duration failures) {
  JobPlan plan;
  plan.nodes = plan.min_nodes = 8;
  plan.spares = 1'000'000;
  plan.node_failures = failures;
  plan.load = plan.save = {};
  plan.checkpoint = 1s;
  return plan;
}

constexpr sim::Duration kMonth = std::chrono::hours(24 * 30);

// ---- arithmetic -----------------------------------------------------------------------------------

TEST(Renewal, without_failures_only_saving_takes_time) {
  JobPlan plan = bare_job(std::chrono::hours(24 * 365 * 50));
  plan.checkpoint = 9min;
  plan.save = 1min;
  const Forecast found = forecast(plan, stalls_of(1h), kMonth, 5, 1);
  EXPECT_NEAR(found.mean, 0.9, 1e-9);
  EXPECT_NEAR(found.shares[static_cast<std::size_t>(Use::saving)], 0.1, 1e-9);
}

TEST(Renewal, what_a_checkpoint_costs_and_saves_is_as_young_has_it) {
  JobPlan plan = bare_job(10h);
  plan.save = 60s;
  const auto lost = [&](sim::Duration interval) {
    plan.checkpoint = interval;
    return 1 - forecast(plan, stalls_of({}), kMonth, 200, 1).mean;
  };
  const double tau = std::sqrt(2.0 * 60 * 36'000);  // seconds; CACM 17(9), 1974
  const auto best = std::chrono::round<std::chrono::seconds>(std::chrono::duration<double>(tau));
  EXPECT_NEAR(lost(best), 60 / tau + tau / 2 / 36'000, 0.003);
  EXPECT_LT(lost(best), lost(best / 3));
  EXPECT_LT(lost(best), lost(best * 3));
}

/// arXiv 2602.00277: effective training time grew from 44 to 80 % as a stall shrank from 10 to 3
/// minutes. The time between failures is not given: one of 12.7 min explains both, where a failure
/// during a stall begins it anew.
TEST(Renewal, shorter_stalls_give_the_published_gain) {
  const JobPlan plan = bare_job(762s);
  EXPECT_NEAR(forecast(plan, stalls_of(10min), kMonth, 20, 1).mean, 0.44, 0.02);
  EXPECT_NEAR(forecast(plan, stalls_of(3min), kMonth, 20, 1).mean, 0.80, 0.02);
}

TEST(Renewal, all_uses_together_are_the_whole_course) {
  JobPlan plan = bare_job(1h);
  plan.spares = 1;
  plan.repair = 5h;
  plan.save = 10s;
  plan.load = 2min;
  plan.worker_failures = 3h;
  Episodes episodes = stalls_of(1min);
  episodes[EpisodeKind::spare_at_hand].push_back({Ending::ended, 1min, 2min, {}, true, 1});
  episodes[EpisodeKind::node_is_gone] = {{Ending::ended, 10min, 10min, {}, true, 1}};
  const Forecast found = forecast(plan, episodes, kMonth, 20, 1);
  double sum = 0;
  for (const double share : found.shares) {
    EXPECT_GE(share, 0);
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_GT(found.ends, 10);
  EXPECT_GT(found.shares[static_cast<std::size_t>(Use::waiting)], 0.3)
      << "four nodes are under repair at a time, and there is one spare";
}

// ---- episodes -------------------------------------------------------------------------------------

JobPlan four_nodes(model::Variant variant) {
  JobPlan plan;
  plan.nodes = plan.min_nodes = 4;
  plan.spares = 1;
  plan.node_failures = 1h;
  plan.variant = variant;
  plan.load = {};
  return plan;
}

Episode episode_of(const JobPlan& plan, EpisodeKind kind) {
  kernel::Kernel kernel;
  return simulate_episode(kernel, plan, kind, 1, 60s);
}

TEST(Episode, a_spare_ends_a_stock_job_unless_its_workers_meet_elsewhere) {
  JobPlan plan = four_nodes(model::Variant::torch_2_x);
  EXPECT_EQ(episode_of(plan, EpisodeKind::spare_at_hand).ending, Ending::ended);
  plan.shares_store = false;
  const Episode mended = episode_of(plan, EpisodeKind::spare_at_hand);
  EXPECT_EQ(mended.ending, Ending::trains);
  EXPECT_LT(mended.detection, 20s) << "the keep-alive threshold";
  EXPECT_GT(mended.detection, 10s);
}

TEST(Episode, without_a_spare_the_time_out_of_a_collective_tells_of_the_loss) {
  JobPlan plan = four_nodes(model::Variant::torch_2_x);
  plan.peer_timeout = 100s;
  const Episode gone = episode_of(plan, EpisodeKind::node_is_gone);
  EXPECT_EQ(gone.ending, Ending::ended);
  EXPECT_NEAR(std::chrono::duration<double>(gone.detection).count(), 100, 3);
  EXPECT_NEAR(std::chrono::duration<double>(gone.rendezvous).count(), 600, 5);
  plan.min_nodes = 3;
  const Episode fewer = episode_of(plan, EpisodeKind::node_is_gone);
  EXPECT_EQ(fewer.ending, Ending::trains);
  EXPECT_EQ(fewer.nodes, 3);
  EXPECT_TRUE(fewer.charged);
}

TEST(Episode, the_node_with_the_store_takes_a_stock_job_with_it) {
  JobPlan plan = four_nodes(model::Variant::torch_2_x);
  plan.peer_timeout = 60s;
  EXPECT_EQ(episode_of(plan, EpisodeKind::host_is_lost).ending, Ending::ended);
  plan.store_apart = true;
  const auto kinds = kinds_of(plan);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), EpisodeKind::host_is_lost), 0);
}

// ---- both -----------------------------------------------------------------------------------------

constexpr std::array<sim::Duration, 8> kFailures{70s, 200s, 290s, 410s, 560s, 650s, 800s, 950s};
constexpr sim::Duration kLength = 1'100s;
/// Whether it is a node that fails then, not just a worker of it.
constexpr std::array<bool, 8> kOfNode{true, true, false, true, false, true, false, true};

/// Those failures.
class FixedDraws final : public Draws {
 public:
  NextFailure next() override {
    if (next_ == kFailures.size()) return {1h, false, false};
    const sim::Duration before = next_ == 0 ? sim::Duration() : kFailures[next_ - 1];
    const NextFailure out{kFailures[next_] - before, kOfNode[next_], false};
    ++next_;
    return out;
  }
  std::size_t pick(std::size_t count) override { return picked_++ % count; }

 private:
  std::size_t next_ = 0, picked_ = 0;
};

/// For how long all workers of the present round had met and nothing had failed.
class TrainingClock final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_completed) {
      size_ = event.field("participants").number();
      met_ = 0;
    } else if (event.type == &ev::worker_initialized && ++met_ == size_) {
      since_ = event.at;
    } else if (event.type == &scenario::events::timeline_acted &&
               event.field("what").text() != "agent.start") {
      stop(event.at);
    }
  }
  void stop(sim::WorldTime at) {
    if (since_) trained += at - *since_;
    since_.reset();
  }
  sim::Duration trained{};

 private:
  std::int64_t size_ = 0, met_ = 0;
  std::optional<sim::WorldTime> since_;
};

/// Four nodes, a spare for each failure of a node, and the same failures in one whole run.
sim::Duration trained_in_a_whole_run(model::Variant variant) {
  scenario::Scenario whole;
  whole.protocol.variant = variant;
  whole.protocol.rendezvous.min_nodes = whole.protocol.rendezvous.max_nodes = 4;
  whole.protocol.agent.max_restarts = 100;
  for (const char* const id : {"n1", "n2", "n3", "n4", "s1", "s2", "s3", "s4", "s5", "s6"}) {
    whole.cluster.nodes.emplace_back().id = id;
    if (id[0] == 's') whole.cluster.nodes.back().start = 5s;
  }
  scenario::WorkerStep meet, step;
  meet.kind = scenario::WorkerStep::Kind::init;
  step.kind = scenario::WorkerStep::Kind::collective;
  step.count = 1'000'000;
  step.span = 2s;
  whole.workers.program = {meet, step};
  whole.workers.peer_abort = 10min;
  whole.time_limit = kLength;
  for (std::size_t i = 0; i < kFailures.size(); ++i) {
    scenario::TimelineEntry entry;
    entry.trigger.at = kFailures[i] + 1300ms;  // from when the job trains
    entry.what = kOfNode[i] ? "node.crash" : "worker.exit";
    entry.from = {"rank0"};
    whole.timeline.push_back(entry);
  }
  TrainingClock clock;
  kernel::Kernel kernel;
  scenario::RunOptions options;
  options.determinism_check = false;
  options.sinks = {&clock};
  scenario::run(kernel, whole, options, properties::InvariantRegistry());
  clock.stop(sim::WorldTime(kLength));
  return clock.trained;
}

TEST(Plan, agrees_with_a_whole_simulated_run) {
  JobPlan plan = four_nodes(model::Variant::hardened);
  plan.spares = 6;
  plan.store_apart = true;
  plan.max_restarts = 100;
  plan.worker_failures = 3h;
  plan.checkpoint = 10ms;
  plan.repair = 10h;
  const Simulation simulation = simulate(plan, {});
  FixedDraws draws;
  const Course course = follow(plan, simulation.episodes, kLength, draws);
  EXPECT_EQ(course.failures, 8);
  const double predicted = course.ratio();
  const double seen = std::chrono::duration<double>(trained_in_a_whole_run(plan.variant)).count() /
                      std::chrono::duration<double>(kLength).count();
  EXPECT_LT(seen, 0.95) << "eight failures cost something";
  EXPECT_NEAR(predicted, seen, 0.05 * seen);
}

TEST(Plan, says_what_to_change_and_the_same_for_the_same_seed) {
  JobPlan plan = four_nodes(model::Variant::torch_2_x);
  plan.load = 2min;
  PlanOptions options;
  options.courses = 50;
  options.simulation.episodes = 2;
  std::size_t played = 0;
  const auto count = [&](std::size_t) { ++played; };
  const PlanResult result = make_plan(plan, options, count);
  EXPECT_GT(played, 3U);
  ASSERT_FALSE(result.advice.empty());
  double before = result.forecast.mean;
  for (const Advice& advice : result.advice) {
    EXPECT_GT(advice.ratio, before) << advice.lever.change;
    before = advice.ratio;
  }
  const std::string text = plan_text(result, options, {false, 80});
  EXPECT_THAT(text, HasSubstr("a node is lost, a spare is there          the job ends after 1m1"));
  EXPECT_THAT(text, HasSubstr("TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"));
  EXPECT_THAT(text, Not(HasSubstr("not known")));
  PlanResult unseen = result;
  unseen.simulation.start_seen = false;
  EXPECT_THAT(plan_text(unseen, options, {false, 80}),
              testing::StartsWith("It is not known whether 4 nodes form a round"));
  EXPECT_EQ(plan_json(result, options), plan_json(make_plan(plan, options, count), options));
}

}  // namespace
}  // namespace hooke::report
