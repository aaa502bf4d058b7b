// Each change is tried on top of the best that are known: its episodes are played, and its courses
// drawn, with the same seeds.
#include "reports/plan/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "scenarios/format/duration.h"

namespace hooke::report {
namespace {

/// A gain below this is within what other draws would give.
constexpr double kGainMin = 0.001;
// What is tried.
constexpr sim::Duration kPeerTimeout = 2min, kLastCall = 5s;

/// In whole minutes, or whole seconds below ten of them.
std::string words(sim::Duration span) {
  const bool minutes = span >= 10min;
  return scenario::duration_text(minutes ? std::chrono::round<std::chrono::minutes>(span)
                                         : std::chrono::round<std::chrono::seconds>(span));
}

double failures_per_second(const JobPlan& plan) {
  return 1 / in_seconds(plan.node_failures) +
         (plan.worker_failures ? 1 / in_seconds(*plan.worker_failures) : 0);
}

// ---- the levers -----------------------------------------------------------------------------------

/// Young's interval: the square root of twice the time to save times the time between failures
/// (CACM 17(9), 1974).
void add_checkpoint(const JobPlan& plan, std::vector<Lever>& out) {
  if (plan.save == sim::Duration::zero()) return;
  const double best = std::sqrt(2 * in_seconds(plan.save) / failures_per_second(plan));
  const auto interval = std::chrono::round<std::chrono::seconds>(
      std::chrono::duration<double>(std::max(best, in_seconds(plan.save))));
  out.push_back({fmt::format("a checkpoint every {} instead of every {}", words(interval),
                             words(plan.checkpoint)),
                 "as much time goes into saving then as into doing again",
                 [interval](JobPlan& changed) { changed.checkpoint = interval; }});
}

void add_spares(const JobPlan& plan, std::vector<Lever>& out) {
  const double away = in_seconds(plan.repair) / in_seconds(plan.node_failures);
  const auto enough = static_cast<std::int64_t>(std::ceil(away + 2 * std::sqrt(away)));
  for (const std::int64_t spares : {plan.spares + 1, enough}) {
    if (spares <= plan.spares || (spares == enough && enough == plan.spares + 1)) continue;
    out.push_back({fmt::format("{} spares instead of {}", spares, plan.spares),
                   fmt::format("{:.1f} nodes are under repair at a time, on average", away),
                   [spares](JobPlan& changed) { changed.spares = spares; }});
  }
  if (plan.min_nodes == plan.nodes && plan.nodes > 1) {
    const std::int64_t fewer =
        std::max<std::int64_t>(1, plan.nodes - std::max<std::int64_t>(1, enough));
    out.push_back({fmt::format("--nnodes={}:{}", fewer, plan.nodes),
                   "the job goes on with fewer nodes while some are under repair",
                   [fewer](JobPlan& changed) { changed.min_nodes = fewer; }});
  }
}

void add_time_outs(const JobPlan& plan, std::vector<Lever>& out) {
  if (plan.peer_timeout > kPeerTimeout) {
    out.push_back({fmt::format("init_process_group(timeout={}) instead of {}", words(kPeerTimeout),
                               words(plan.peer_timeout)),
                   "where no spare comes, a lost peer is noticed by this time-out alone",
                   [](JobPlan& changed) { changed.peer_timeout = kPeerTimeout; }});
  }
  if (plan.keep_alive > 1s) {
    out.push_back({"--rdzv-conf=keep_alive_interval=1", "a dead node is taken out after 3 s",
                   [](JobPlan& changed) { changed.keep_alive = 1s; }});
  }
  if (plan.last_call > kLastCall && plan.min_nodes < plan.nodes) {
    out.push_back({"--rdzv-conf=last_call_timeout=5",
                   "each round that is not full waits so long for latecomers",
                   [](JobPlan& changed) { changed.last_call = kLastCall; }});
  }
  const sim::Duration join = plan.repair + 30min;
  if (join > plan.join) {
    out.push_back({fmt::format("--rdzv-conf=join_timeout={}", join / std::chrono::seconds(1)),
                   "the agents outlast a repair",
                   [join](JobPlan& changed) { changed.join = join; }});
  }
}

void add_restarts(const JobPlan& plan, const PlanOptions& options, std::vector<Lever>& out) {
  const auto enough =
      static_cast<std::int64_t>(2 * failures_per_second(plan) * in_seconds(options.length)) + 10;
  if (enough > plan.max_restarts) {
    out.push_back({fmt::format("--max-restarts={}", enough),
                   "failures do not use up the budget of restarts",
                   [enough](JobPlan& changed) { changed.max_restarts = enough; }});
  }
}

void add_stores(const JobPlan& plan, std::vector<Lever>& out) {
  if (plan.backend == "c10d" && plan.shares_store && plan.variant == model::Variant::torch_2_x) {
    out.push_back({"TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1",
                   "a node that joins a running job waits in vain for an address that only the "
                   "first round has, and its failure ends the job (weakness A-21)",
                   [](JobPlan& changed) { changed.shares_store = false; }});
  }
  if (!plan.store_apart) {
    out.push_back({"the store on a machine of its own (hooke store, or etcd)",
                   "the job ends with the node that has its store",
                   [](JobPlan& changed) { changed.store_apart = true; }});
  }
}

JobPlan changed_by(JobPlan plan, const Lever& lever) {
  lever.apply(plan);
  return plan;
}

// ---- what a change gives --------------------------------------------------------------------------

/// Plays the episodes of each protocol once: most changes are arithmetic.
class Prediction {
 public:
  Prediction(const PlanOptions& options, const std::function<void(std::size_t)>& progress)
      : options_(options), progress_(progress) {}

  /// With the start of all nodes, which counts for all that the same agents would do elsewhere.
  const Simulation& play_all(const JobPlan& plan) {
    progress_(played_.size());
    const Simulation& played = played_[key_of(plan)] = simulate(plan, options_.simulation);
    if (played.nodes < plan.nodes && played.start_seen && options_.simulation.start_of_all) {
      starts_[{plan.variant, plan.backend}] = played.episodes.at(EpisodeKind::start);
    }
    return played;
  }
  Forecast of(const JobPlan& plan) {
    const auto known = played_.find(key_of(plan));
    const Simulation& played = known != played_.end() ? known->second : play(plan);
    return forecast(plan, played.episodes, options_.length, options_.courses,
                    options_.simulation.seed);
  }

 private:
  /// What an episode depends on.
  using Key = std::tuple<std::int64_t, std::int64_t, bool, bool, bool, bool, bool, model::Variant,
                         std::string, std::array<sim::Duration, 5>>;
  static Key key_of(const JobPlan& plan) {
    return {plan.nodes,
            plan.min_nodes,
            plan.spares > 0,
            plan.worker_failures.has_value(),
            plan.max_restarts > 0,
            plan.store_apart,
            plan.shares_store,
            plan.variant,
            plan.backend,
            {plan.peer_timeout, plan.join, plan.last_call, plan.keep_alive, plan.monitor}};
  }
  const Simulation& play(const JobPlan& plan) {
    progress_(played_.size());
    SimulationOptions brief = options_.simulation;
    brief.start_of_all = false;
    Simulation played = simulate(plan, brief);
    const auto start = starts_.find({plan.variant, plan.backend});
    if (start != starts_.end()) played.episodes[EpisodeKind::start] = start->second;
    return played_[key_of(plan)] = std::move(played);
  }

  const PlanOptions& options_;
  const std::function<void(std::size_t)>& progress_;
  std::map<Key, Simulation> played_;
  std::map<std::pair<model::Variant, std::string>, std::vector<Episode>> starts_;
};

}  // namespace

std::vector<Lever> levers_of(const JobPlan& plan, const PlanOptions& options) {
  std::vector<Lever> out;
  add_checkpoint(plan, out);
  add_spares(plan, out);
  add_time_outs(plan, out);
  add_restarts(plan, options, out);
  add_stores(plan, out);
  return out;
}

PlanResult make_plan(const JobPlan& plan, const PlanOptions& options,
                     const std::function<void(std::size_t)>& progress) {
  Prediction prediction(options, progress);
  PlanResult out;
  out.plan = plan;
  out.simulation = prediction.play_all(plan);
  out.forecast = prediction.of(plan);
  JobPlan best = plan;
  double ratio = out.forecast.mean;
  std::vector<Lever> levers = levers_of(plan, options);
  while (!levers.empty()) {
    std::vector<double> with;
    for (const Lever& lever : levers) with.push_back(prediction.of(changed_by(best, lever)).mean);
    const auto most = std::max_element(with.begin(), with.end());
    if (*most < ratio + kGainMin) break;
    const auto chosen = levers.begin() + (most - with.begin());
    chosen->apply(best);
    ratio = *most;
    out.advice.push_back({*chosen, ratio});
    levers.erase(chosen);
  }
  if (plan.variant != model::Variant::hardened) {
    JobPlan hardened = plan;
    hardened.variant = best.variant = model::Variant::hardened;
    out.hardened_start_seen = prediction.play_all(hardened).start_seen;
    out.hardened = prediction.of(hardened).mean;
    out.hardened_and_advice = prediction.of(best).mean;
  }
  return out;
}

}  // namespace hooke::report
