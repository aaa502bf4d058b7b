// The common work first, then what single workers do beside it.
#include <array>
#include <string_view>

#include "scenarios/swarm/draws.h"
#include "scenarios/swarm/swarm_parts.h"
#include "sim/port/process_host.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using kernel::Stream;
using scenario::NodePlan;
using scenario::Scenario;
using scenario::WorkerProgram;
using scenario::WorkerStep;

/// Draws what the workers of one world do.
class WorkersDrawing {
 public:
  WorkersDrawing(const Swarm& swarm, kernel::SeededSource& source, Scenario& world)
      : swarm_(swarm), source_(source), world_(world) {}
  void draw();

 private:
  void watches(Stream& draws);
  WorkerProgram common_work(Stream& draws) const;
  WorkerProgram program(Stream& draws, const WorkerProgram& work) const;
  void odd_worker(Stream& draws);

  const Swarm& swarm_;
  kernel::SeededSource& source_;
  Scenario& world_;
  bool timers_ = false;  ///< an agent's watchdog ends workers that let a timer expire
  bool beats_ = false;   ///< agents wait for their workers' heartbeats
};

WorkerStep step(WorkerStep::Kind kind) {
  WorkerStep out;
  out.kind = kind;
  return out;
}

WorkerStep step(WorkerStep::Kind kind, Duration span, std::int64_t code = 0) {
  WorkerStep out = step(kind);
  out.span = span;
  out.code = code;
  return out;
}

WorkerStep beat(std::string_view what) {
  WorkerStep out = step(WorkerStep::Kind::beat);
  out.text = what;
  return out;
}

void WorkersDrawing::draw() {
  Stream draws(source_, "swarm.workers", 0);
  scenario::WorkersPlan& plan = world_.workers;
  plan.per_node = between(draws, swarm_.workers_per_node);
  watches(draws);
  const WorkerProgram work = common_work(draws);
  plan.program = program(draws, work);
  // What a timer guards and when a worker pauses its heartbeats are its own affair.
  for (const NodePlan& node : world_.cluster.nodes) {
    for (std::int64_t rank = 1; (timers_ || beats_) && rank < plan.per_node; ++rank) {
      plan.overrides[node.id + "/" + std::to_string(rank)] = program(draws, work);
    }
  }
  plan.peer_abort = seconds(draws, 5, 60);
  if (one_in(draws, 6)) plan.peer_abort.reset();
  if (one_in(draws, 6)) plan.slow_stop = seconds(draws, 1, 60);
  if (one_in(draws, 2)) odd_worker(draws);
}

/// Whether agents watch their workers by more than their ends.
void WorkersDrawing::watches(Stream& draws) {
  scenario::AgentPlan& agent = world_.protocol.agent;
  timers_ = one_in(draws, 6);
  if (timers_) {
    agent.environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
    if (one_in(draws, 3)) agent.timer = "queue";
  }
  beats_ = one_in(draws, 6);
  if (beats_) {
    model::HeartbeatPlan& plan = agent.heartbeats.emplace();
    plan.interval = milliseconds(draws, 300, 1'500);
    plan.deadline = plan.interval * 2 + milliseconds(draws, 500, 5'000);
    if (one_in(draws, 4)) plan.first_beat = seconds(draws, 5, 30);
    plan.policy =
        one_of(draws, std::array{model::HeartbeatPolicy::mark, model::HeartbeatPolicy::restart,
                                 model::HeartbeatPolicy::stop});
  }
}

/// What every worker does: most train together, some work each for itself, for long or not. Those
/// that are watched do so more often: together they end together, whatever a watchdog forgets.
WorkerProgram WorkersDrawing::common_work(Stream& draws) const {
  if (one_in(draws, timers_ || beats_ ? 2 : 4)) {
    const bool long_work = one_in(draws, 3);
    return {step(WorkerStep::Kind::run, seconds(draws, 1, long_work ? 300 : 60))};
  }
  WorkerStep train = step(WorkerStep::Kind::collective, span(draws));
  train.count = between(draws, {1, 6});
  return {step(WorkerStep::Kind::init), train};
}

/// A step that a timer guards: done just in time or too late, or renewed half way.
void guarded_step(Stream& draws, const std::string& scope, WorkerProgram& program) {
  const Duration limit = milliseconds(draws, 1'000, 12'000);
  WorkerStep acquire =
      step(WorkerStep::Kind::acquire, limit, static_cast<std::int64_t>(sim::Signal::kill));
  WorkerStep release = step(WorkerStep::Kind::release);
  acquire.text = release.text = scope;
  program.push_back(acquire);
  if (one_in(draws, 3)) {
    program.push_back(step(WorkerStep::Kind::run, limit / 2));
    program.push_back(acquire);
  }
  const bool late = one_in(draws, 4);
  program.push_back(step(WorkerStep::Kind::run, late ? limit + seconds(draws, 1, 8)
                                                     : limit - milliseconds(draws, 5, 900)));
  program.push_back(release);
}

/// The common work, beside steps that timers guard and between heartbeats where there are any.
WorkerProgram WorkersDrawing::program(Stream& draws, const WorkerProgram& work) const {
  WorkerProgram out;
  for (std::int64_t i = timers_ ? between(draws, {1, 4}) : 0; i > 0; --i) {
    guarded_step(draws, one_in(draws, 3) ? "shared" : "step " + std::to_string(i), out);
  }
  out.insert(one_in(draws, 2) ? out.begin() : out.end(), work.begin(), work.end());
  if (beats_) {
    out.insert(out.begin(), beat("start"));
    if (one_in(draws, 2)) {
      out.push_back(beat("pause"));
      out.push_back(step(WorkerStep::Kind::run, seconds(draws, 1, 9)));
      out.push_back(beat("start"));
      out.push_back(step(WorkerStep::Kind::run, seconds(draws, 1, 9)));
    }
    if (!one_in(draws, 4)) out.push_back(beat("stop"));
  }
  out.push_back(step(WorkerStep::Kind::exit));
  return out;
}

/// One worker, or all of one node, does something else for once or always.
void WorkersDrawing::odd_worker(Stream& draws) {
  std::string key = some_node(draws, world_);
  if (one_in(draws, 2)) {
    key += "/" + std::to_string(between(draws, {0, world_.workers.per_node - 1}));
  }
  if (one_in(draws, 3)) key += "/*";
  WorkerProgram program{step(WorkerStep::Kind::run, moment(draws, 30))};
  if (beats_) program.insert(program.begin(), beat("start"));
  switch (draws.below(4)) {
    case 0: program.push_back(step(WorkerStep::Kind::exit, {}, between(draws, {1, 3}))); break;
    case 1: program.push_back(step(WorkerStep::Kind::exit)); break;
    case 2: program.push_back(step(WorkerStep::Kind::hang)); break;
    default:
      program.push_back(
          step(WorkerStep::Kind::signal, {}, static_cast<std::int64_t>(sim::Signal::kill)));
  }
  world_.workers.overrides[key] = program;
}

}  // namespace

void draw_workers(const Swarm& swarm, kernel::SeededSource& source, Scenario& world) {
  WorkersDrawing(swarm, source, world).draw();
}

}  // namespace hooke::hunt
