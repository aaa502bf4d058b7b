// Each episode is a scenario like any other; a sink follows it and ends it.
#include "reports/plan/episode.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "model/observe/trace_events.h"
#include "scenarios/outcome/trigger.h"
#include "scenarios/outcome/verdict.h"
#include "scenarios/simulated/runner.h"
#include "sim/kernel/host_limits.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Training before the failure: at least this, and as much again at most, drawn by the seed.
constexpr sim::Duration kCalm = 30s;
/// The entry of the timeline with which an episode begins.
constexpr std::int64_t kFailure = 0;
/// Work between two collectives.
constexpr sim::Duration kStep = 2s;

/// What happens to a round of which workers start, meet and train.
class EpisodeWatch final : public kernel::TraceSink {
 public:
  /// `from_start`: it begins with the run; else with the entry kFailure of the timeline.
  EpisodeWatch(kernel::Kernel& kernel, const JobPlan& plan, bool from_start)
      : kernel_(kernel), max_restarts_(plan.max_restarts), begun_(from_start) {
    if (from_start) acted_ = began_;
  }

  void on_event(const sim::Event& event) override {
    if (event.type == &wev::process_started) {
      if (event.field("program").text() == "agent") agents_.insert({event.node, event.pid});
    } else if (event.type == &wev::process_ended) {
      agents_.erase({event.node, event.pid});
      if (begun_ && agents_.empty()) end(Ending::ended, event.at);
    } else if (event.type == &ev::rendezvous_completed) {
      size_ = event.field("participants").number();
      started_ = met_ = 0;
    } else if (event.type == &ev::worker_started) {
      if (++started_ == size_) all_started_ = event.at;
    } else if (event.type == &ev::worker_initialized) {
      if (++met_ == size_) trains(event.at);
    } else if (event.type == &scenario::events::timeline_acted) {
      if (event.field("entry").number() == kFailure) begin(event.at);
    } else if (event.type == &ev::group_restarting) {
      acts(event.at);
      charged_ = charged_ || event.field("remaining_restarts").number() < max_restarts_;
    } else if (event.type == &ev::agent_finished || event.type == &ev::rendezvous_failed) {
      acts(event.at);
    }
  }

  /// Where nothing more happened within `patience`.
  [[nodiscard]] Episode result(sim::Duration patience) const {
    Episode out{ending_, {}, {}, {}, charged_, size_};
    const sim::WorldTime end = ending_ == Ending::hangs ? began_ + patience : ended_;
    const sim::WorldTime acted = std::clamp(acted_.value_or(end), began_, end);
    const bool trains = ending_ == Ending::trains;
    const sim::WorldTime started = trains ? std::clamp(all_started_, acted, end) : end;
    out.detection = acted - began_;
    out.rendezvous = started - acted;
    out.restart = end - started;
    return out;
  }

 private:
  using Process = std::pair<sim::NodeId, sim::Pid>;

  void acts(sim::WorldTime at) {
    if (begun_ && !acted_) acted_ = at;
  }
  void begin(sim::WorldTime at) {
    begun_ = true;
    began_ = at;
  }
  /// A group that was whole before the episode began, or that no agent has had to act for, is not
  /// the one that follows it.
  void trains(sim::WorldTime at) {
    if (!begun_ || !acted_) return;
    end(Ending::trains, at);
  }
  void end(Ending ending, sim::WorldTime at) {
    if (ending_ != Ending::hangs) return;
    ended_ = at;
    ending_ = ending;
    kernel_.stop();
  }

  kernel::Kernel& kernel_;
  std::int64_t max_restarts_;
  bool begun_;
  bool charged_ = false;
  std::set<Process> agents_;
  std::int64_t size_ = 0, started_ = 0, met_ = 0;
  sim::WorldTime began_{}, ended_{}, all_started_{};
  std::optional<sim::WorldTime> acted_;
  Ending ending_ = Ending::hangs;
};

/// Tells how far an episode is.
class EpisodeTeller final : public kernel::TraceSink {
 public:
  EpisodeTeller(EpisodeProgress state, const std::function<void(const EpisodeProgress&)>& tell)
      : state_(state), tell_(tell) {}
  void on_event(const sim::Event& event) override {
    constexpr std::uint64_t kEventsBetween = 4096;
    if (++events_ % kEventsBetween != 0) return;
    state_.now = event.at - sim::WorldTime{};
    state_.real = watch_.elapsed();
    tell_(state_);
  }

 private:
  EpisodeProgress state_;
  const std::function<void(const EpisodeProgress&)>& tell_;
  kernel::Stopwatch watch_;
  std::uint64_t events_ = 0;
};

// ---- the scenario of an episode -----------------------------------------------------------------

std::string member(std::int64_t number) {
  return fmt::format("n{}", number);
}

scenario::TimelineEntry entry(sim::Duration after, const char* what, const std::string& node) {
  scenario::TimelineEntry out;
  out.trigger.event = std::string(ev::rendezvous_completed.name);
  out.trigger.after = after;
  out.what = what;
  out.from = {node};
  return out;
}

/// Entry kFailure of the timeline.
scenario::TimelineEntry failure(const JobPlan& plan, EpisodeKind kind, sim::Duration after) {
  switch (kind) {
    case EpisodeKind::worker_fails: return entry(after, "worker.exit", member(plan.nodes));
    case EpisodeKind::host_is_lost: return entry(after, "node.crash", member(1));
    case EpisodeKind::node_is_added: return entry(after, "agent.start", member(plan.nodes));
    case EpisodeKind::node_returns: {
      scenario::TimelineEntry crash = entry(after, "node.crash", member(plan.nodes));
      crash.duration = kAway;
      return crash;
    }
    case EpisodeKind::start:
    case EpisodeKind::spare_at_hand:
    case EpisodeKind::node_is_gone: break;
  }
  return entry(after, "node.crash", member(plan.nodes));
}

scenario::WorkerProgram training() {
  scenario::WorkerStep meet, step;
  meet.kind = scenario::WorkerStep::Kind::init;
  step.kind = scenario::WorkerStep::Kind::collective;
  step.count = 1'000'000;
  step.span = kStep;
  return {meet, step};
}

scenario::ProtocolPlan protocol_of(const JobPlan& plan) {
  scenario::ProtocolPlan out;
  out.variant = plan.variant;
  out.rendezvous.backend = plan.backend;
  out.rendezvous.min_nodes = plan.min_nodes;
  out.rendezvous.max_nodes = plan.nodes;
  out.rendezvous.join = plan.join;
  out.rendezvous.last_call = plan.last_call;
  out.rendezvous.keep_alive_interval = plan.keep_alive;
  out.agent.max_restarts = plan.max_restarts;
  out.agent.monitor_interval = plan.monitor;
  if (!plan.shares_store) out.agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  return out;
}

bool has_spare(const JobPlan& plan, EpisodeKind kind) {
  return plan.spares > 0 &&
         (kind == EpisodeKind::spare_at_hand || kind == EpisodeKind::host_is_lost);
}

scenario::Scenario scenario_of(const JobPlan& plan, EpisodeKind kind, sim::Duration calm,
                               sim::Duration patience) {
  scenario::Scenario out;
  out.name = "episode";
  out.protocol = protocol_of(plan);
  for (std::int64_t i = 1; i <= plan.nodes; ++i) out.cluster.nodes.emplace_back().id = member(i);
  if (!plan.store_apart) out.cluster.store_host = member(1);
  if (plan.calibration) apply(*plan.calibration, out.cluster);
  out.workers.program = training();
  out.workers.peer_abort = plan.peer_timeout;
  out.time_limit = 2 * kCalm + plan.join + plan.last_call + patience;
  if (kind == EpisodeKind::start) return out;
  out.timeline.push_back(failure(plan, kind, calm));
  if (kind == EpisodeKind::node_is_added) out.cluster.nodes.back().start.reset();
  if (has_spare(plan, kind)) {
    out.cluster.nodes.emplace_back().id = "spare";
    out.cluster.nodes.back().start.reset();
    out.timeline.push_back(entry(1s, "agent.start", "spare"));
  }
  return out;
}

/// Longer than any one thing that an agent or a worker waits for.
sim::Duration patience_of(const JobPlan& plan) {
  const scenario::AgentPlan agent;
  const scenario::RendezvousPlan rendezvous;
  return plan.peer_timeout + plan.join + plan.last_call + agent.exit_barrier_timeout +
         agent.shutdown_timeout + 2 * rendezvous.read_timeout + kAway;
}

}  // namespace

std::vector<EpisodeKind> kinds_of(const JobPlan& plan) {
  std::vector<EpisodeKind> kinds{EpisodeKind::start, EpisodeKind::node_is_gone};
  if (plan.worker_failures) kinds.push_back(EpisodeKind::worker_fails);
  if (plan.spares > 0) kinds.push_back(EpisodeKind::spare_at_hand);
  if (!plan.store_apart) kinds.push_back(EpisodeKind::host_is_lost);
  kinds.push_back(plan.min_nodes < plan.nodes ? EpisodeKind::node_is_added
                                              : EpisodeKind::node_returns);
  return kinds;
}

Episode simulate_episode(kernel::Kernel& kernel, const JobPlan& plan, EpisodeKind kind,
                         std::uint64_t seed, std::chrono::milliseconds real_time,
                         const std::function<void(const EpisodeProgress&)>& progress) {
  kernel::SeededSource source(seed);
  kernel::Stream calm(source, "plan.calm", static_cast<std::uint64_t>(kind));
  const auto more = calm.below(static_cast<std::uint64_t>(kCalm.count()));
  const sim::Duration patience = patience_of(plan);
  const scenario::Scenario played =
      scenario_of(plan, kind, kCalm + sim::Duration(static_cast<std::int64_t>(more)), patience);
  EpisodeWatch watch(kernel, plan, kind == EpisodeKind::start);
  scenario::RunOptions options;
  options.seed = seed;
  options.determinism_check = false;
  options.sinks = {&watch};
  EpisodeTeller teller({kind, plan.nodes, {}, {}, real_time}, progress);
  if (progress) options.sinks.push_back(&teller);
  options.steps_max = 0;
  options.wall_time_max = real_time;
  const scenario::RunReport report =
      scenario::run(kernel, played, options, properties::InvariantRegistry());
  if (!report.harness_failure.empty()) throw std::runtime_error(report.harness_failure);
  if (report.end != kernel::RunEnd::stopped && !scenario::limit_reached(report).empty()) {
    throw std::runtime_error(scenario::limit_reached(report));
  }
  return watch.result(patience);
}

}  // namespace hooke::report
