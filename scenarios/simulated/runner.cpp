// A run is built, driven to its end, and taken down by Execution; what it has shown is judged
// afterwards.
#include "scenarios/simulated/runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>

#include "properties/invariants/invariant_set.h"
#include "scenarios/outcome/outcomes.h"
#include "scenarios/outcome/roster.h"
#include "scenarios/outcome/verdict.h"
#include "scenarios/simulated/actions.h"
#include "scenarios/simulated/agenda.h"
#include "scenarios/simulated/cluster.h"
#include "scenarios/simulated/determinism_check.h"
#include "scenarios/simulated/given_to_agents.h"
#include "scenarios/simulated/healed_core.h"
#include "scenarios/simulated/timeline.h"
#include "sim/kernel/host_limits.h"
#include "sim/port/check.h"
#include "sim/world/world.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

/// Hands events on while the run lasts: what a world does while it is taken down is no part of it.
class Gate final : public kernel::TraceSink {
 public:
  void add(kernel::TraceSink& sink) { sinks_.push_back(&sink); }
  void shut() { open_ = false; }
  void on_event(const sim::Event& event) override {
    if (!open_) return;
    for (kernel::TraceSink* const sink : sinks_) sink->on_event(event);
  }

 private:
  std::vector<kernel::TraceSink*> sinks_;
  bool open_ = true;
};

/// Until when a run must go on for the sake of what its invariants still owe.
using Owed = std::function<sim::WorldTime()>;

/// Ends the run when every agent is over, nothing is left to come, and nothing is owed any more.
class EndWatch final : public kernel::TraceSink {
 public:
  EndWatch(kernel::Kernel& kernel, Agenda& agenda, const Outcomes& outcomes,
           std::int64_t rounds_max)
      : kernel_(kernel), agenda_(agenda), outcomes_(outcomes), rounds_max_(rounds_max) {
    HOOKE_CHECK(rounds_max_ >= 0, "rounds are counted upward");
    agenda.after_each([this] { look(); });
  }
  void wait_for(Owed owed) { owed_ = std::move(owed); }
  [[nodiscard]] bool rounds_exhausted() const { return rounds_exhausted_; }
  /// An agent may just have ended: have the agenda look, once everybody has seen this event.
  void on_event(const sim::Event& event) override {
    const bool ended = event.type == &world::events::process_ended;
    if (ended && outcomes_.all_over()) agenda_.later(Duration::zero(), [] {});
    if (rounds_max_ != 0 && outcomes_.rounds() >= rounds_max_ && !rounds_exhausted_) {
      rounds_exhausted_ = true;
      kernel_.stop();
    }
  }

 private:
  static void on_time(void* self, std::uint64_t) { static_cast<EndWatch*>(self)->look(); }
  void look() {
    if (!agenda_.empty() || !outcomes_.all_over()) return;
    const sim::WorldTime owed = owed_ ? owed_() : sim::WorldTime();
    if (owed <= kernel_.now()) return kernel_.stop();
    if (owed == next_look_) return;
    next_look_ = owed;
    kernel_.at(owed, {&EndWatch::on_time, this});
  }

  kernel::Kernel& kernel_;
  Agenda& agenda_;
  const Outcomes& outcomes_;
  std::int64_t rounds_max_;
  bool rounds_exhausted_ = false;
  Owed owed_;
  sim::WorldTime next_look_{};
};

/// One source up to a moment, another one afterwards.
class ForkedSource final : public kernel::ChoiceSource {
 public:
  ForkedSource(const kernel::Kernel& kernel, std::unique_ptr<kernel::ChoiceSource> past, Fork fork)
      : kernel_(kernel), past_(std::move(past)), after_(fork.after), future_(fork.seed) {
    HOOKE_CHECK(past_ != nullptr, "a run is forked off another one");
  }
  std::uint64_t choose(const kernel::ChoicePoint& point, std::uint64_t bound) override {
    return kernel_.now() <= after_ ? past_->choose(point, bound) : future_.choose(point, bound);
  }

 private:
  const kernel::Kernel& kernel_;
  std::unique_ptr<kernel::ChoiceSource> past_;
  sim::WorldTime after_;
  kernel::SeededSource future_;
};

std::unique_ptr<kernel::ChoiceSource> choices_of(const kernel::Kernel& kernel,
                                                 const Scenario& scenario,
                                                 const RunOptions& options, std::uint64_t seed) {
  std::unique_ptr<kernel::ChoiceSource> choices;
  if (scenario.tape) {
    choices = std::make_unique<kernel::ReplaySource>(*scenario.tape);
  } else {
    choices = std::make_unique<kernel::SeededSource>(seed);
  }
  if (!options.fork) return choices;
  return std::make_unique<ForkedSource>(kernel, std::move(choices), *options.fork);
}

kernel::RunLimits limits_of(const Scenario& scenario, const RunOptions& options) {
  kernel::RunLimits limits;
  limits.steps_max = options.steps_max;
  limits.world_time_max = sim::WorldTime(scenario.time_limit);
  limits.wall_time_max = options.wall_time_max;
  limits.fibers_max = options.fibers_max;
  limits.memory_bytes_max = options.memory_bytes_max;
  return limits;
}

/// One run: the world and all that watch it. What fibers refer to outlives the world.
class Execution {
 public:
  Execution(kernel::Kernel& kernel, const Scenario& scenario, const RunOptions& options,
            std::uint64_t seed)
      : kernel_(kernel),
        options_(options),
        choices_(choices_of(kernel, scenario, options, seed)),
        outcomes_(node_names_, scenario.expect) {
    kernel::ChoiceSource* source = choices_.get();
    if (options.record_tape) {
      recording_ = std::make_unique<kernel::RecordingSource>(*choices_);
      source = recording_.get();
    }
    const kernel::Schedule schedule = options.schedule.value_or(scenario.schedule);
    kernel_.begin(*source, trace_, limits_of(scenario, options), schedule);
    agenda_ = std::make_unique<Agenda>(kernel_);
    world::WorldOptions how = world_options(scenario.cluster, schedule.strategy);
    how.steps_polls = options_.steps_polls;
    world_ = std::make_unique<world::World>(kernel_, how);
    cluster_ =
        std::make_unique<Cluster>(*world_, scenario, roster_, options_.plugins, options_.agent);
    for (std::uint32_t i = 0; i < world_->node_count(); ++i) {
      node_names_.push_back(world_->node_name(sim::NodeId{i}));
    }
    actions_ = std::make_unique<Actions>(*world_, *cluster_, roster_, *agenda_);
    timeline_ = std::make_unique<Timeline>(*world_, *actions_, *agenda_, scenario.timeline);
    end_watch_ = std::make_unique<EndWatch>(kernel_, *agenda_, outcomes_, options.rounds_max);
    trace_.add_sink(gate_);
    // Actions asks the roster about the moment before each event.
    for (kernel::TraceSink* const sink : std::initializer_list<kernel::TraceSink*>{
             actions_.get(), &roster_, &outcomes_, timeline_.get(), end_watch_.get()}) {
      gate_.add(*sink);
    }
    for (std::size_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
      const std::optional<Duration>& start = scenario.cluster.nodes[i].start;
      if (start) start_later(*start, cluster_->nodes()[i]);
    }
    if (!scenario.core) return;
    agenda_->later(scenario.core->at, [this, &scenario] {
      heal_core(scenario, *world_, *cluster_, *actions_, *timeline_, outcomes_);
    });
  }
  ~Execution() {
    gate_.shut();
    world_.reset();
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void watch(kernel::TraceSink& sink) { gate_.add(sink); }
  void wait_for(Owed owed) { end_watch_->wait_for(std::move(owed)); }

  kernel::RunEnd run() {
    cluster_->start_store();
    timeline_->arm();
    if (options_.prepare) options_.prepare(*world_);
    return kernel_.run();
  }

  [[nodiscard]] const kernel::TraceRecorder& trace() const { return trace_; }
  [[nodiscard]] const Outcomes& outcomes() const { return outcomes_; }
  [[nodiscard]] bool rounds_exhausted() const { return end_watch_->rounds_exhausted(); }
  [[nodiscard]] const Timeline& timeline() const { return *timeline_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return node_names_; }
  [[nodiscard]] kernel::Tape tape() const {
    return recording_ ? recording_->tape() : kernel::Tape();
  }

 private:
  void start_later(Duration after, sim::NodeId node) {
    agenda_->later(after, [this, node] { cluster_->start_agent(node); });
  }

  kernel::Kernel& kernel_;
  const RunOptions& options_;
  std::unique_ptr<kernel::ChoiceSource> choices_;
  std::unique_ptr<kernel::RecordingSource> recording_;
  kernel::TraceRecorder trace_;
  Gate gate_;
  std::vector<std::string> node_names_;
  Roster roster_;
  Outcomes outcomes_;
  std::unique_ptr<Agenda> agenda_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Actions> actions_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<EndWatch> end_watch_;
  std::unique_ptr<world::World> world_;
};

/// A run that the machine cut, not the scenario, ends at another place each time.
bool ends_where_the_machine_says(kernel::RunEnd end) {
  return end == kernel::RunEnd::wall_time_exhausted || end == kernel::RunEnd::memory_exhausted;
}

/// As of when a run is judged. A world in which nothing is ready and no timer is pending stays as
/// it is: agents that are left in it wait until the time limit, and are late by then.
sim::WorldTime judged_at(const Scenario& scenario, kernel::RunEnd end, sim::WorldTime now,
                         bool all_over) {
  const bool quiet = end == kernel::RunEnd::idle && !all_over;
  return quiet ? std::max(now, sim::WorldTime(scenario.time_limit)) : now;
}

/// What judges are told beforehand: the names of the machines, and what their agents are given.
void introduce(const Scenario& scenario, const std::vector<std::string>& names,
               properties::InvariantSet& judges) {
  std::map<model::Variant, std::shared_ptr<const properties::Given>> known;
  const auto& nodes = scenario.cluster.nodes;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const model::Variant variant =
        i < nodes.size() ? scenario.variant_of(nodes[i]) : scenario.protocol.variant;
    auto& given = known[variant];
    if (given == nullptr)
      given = std::make_shared<const properties::Given>(given_to_agents(scenario, variant));
    judges.call(sim::NodeId{i}, names[i]);
    judges.give(sim::NodeId{i}, given);
  }
}

void take_facts(const Execution& execution, kernel::Kernel& kernel, RunReport& report) {
  const Outcomes& outcomes = execution.outcomes();
  report.agents = outcomes.agents();
  report.jobs = jobs_of(report.agents);
  report.faults = execution.timeline().done();
  report.never_happened = execution.timeline().never_happened(kernel.now());
  report.coverage = outcomes.coverage();
  report.met = outcomes.met();
  report.nearest = outcomes.nearest();
  report.sums = outcomes.sums();
  report.rounds = outcomes.rounds();
  HOOKE_CHECK(report.rounds >= 0, "rounds are counted upward");
  report.rounds_exhausted = execution.rounds_exhausted();
  report.world_time = kernel.now().time_since_epoch();
  report.events = execution.trace().event_count();
  report.steps = kernel.steps();
  report.hash = execution.trace().hash().hex();
  if (report.end == kernel::RunEnd::failed) report.harness_failure = kernel.failure();
}

}  // namespace

RunReport run(kernel::Kernel& kernel, const Scenario& scenario, const RunOptions& options,
              const properties::InvariantRegistry& invariants) {
  RunReport report;
  report.name = scenario.name;
  report.seed = options.seed.value_or(scenario.seed);
  std::unique_ptr<FirstRun> first;
  std::unique_ptr<Execution> execution =
      std::make_unique<Execution>(kernel, scenario, options, report.seed);
  properties::InvariantSet judges(invariants);
  introduce(scenario, execution->node_names(), judges);
  execution->watch(judges);
  std::vector<sim::WorldTime> owed;  // answers, for the second run, which is not judged
  execution->wait_for([&] { return owed.emplace_back(judges.owed_until()); });
  for (kernel::TraceSink* const sink : options.sinks) execution->watch(*sink);
  if (options.determinism_check) {
    first = std::make_unique<FirstRun>(execution->trace());
    execution->watch(*first);
  }
  const kernel::Stopwatch stopwatch;
  report.end = execution->run();
  report.wall_time = stopwatch.elapsed();
  take_facts(*execution, kernel, report);
  report.tape = execution->tape();
  const bool all_over = execution->outcomes().all_over();
  const sim::WorldTime last_fault =
      std::max(execution->outcomes().last_fault(), execution->timeline().last());
  report.judged_at = judged_at(scenario, report.end, kernel.now(), all_over);
  HOOKE_CHECK(report.judged_at >= kernel.now(), "a run is judged by all that it has shown");
  report.violations = judges.finish({report.judged_at, all_over, last_fault});
  report.accounts = judges.accounts();
  if (first) first->finish(report.end);
  execution.reset();

  if (first && !ends_where_the_machine_says(report.end)) {
    Execution second(kernel, scenario, options, report.seed);
    SecondRun comparer(*first, second.trace(), second.node_names(), [&] { kernel.stop(); });
    second.watch(comparer);
    second.wait_for([&owed, next = std::size_t{0}]() mutable {
      return next < owed.size() ? owed[next++] : sim::WorldTime();
    });
    const kernel::RunEnd end = second.run();
    report.check_cut = ends_where_the_machine_says(end);
    if (!report.check_cut) comparer.finish(end);
    report.trace_difference = comparer.difference();
  }
  judge(scenario, all_over, report);
  return report;
}

}  // namespace hooke::scenario
