// World events build the process table; the agents' own events move them through their stages; a
// job's counters follow from both.
#include "properties/invariants/job_view.h"

#include <array>
#include <utility>

#include "model/observe/restart_events.h"
#include "model/observe/shutdown_events.h"
#include "model/observe/trace_events.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

bool tells_to_end(std::int64_t signal) {
  switch (static_cast<sim::Signal>(signal)) {
    case sim::Signal::hup:
    case sim::Signal::int_:
    case sim::Signal::quit:
    case sim::Signal::term: return true;
    default: return false;
  }
}

}  // namespace

// ---- tables

JobView::Machine& JobView::machine(sim::NodeId node) {
  if (node.value >= machines_.size()) machines_.resize(std::size_t{node.value} + 1);
  return machines_[node.value];
}

Process* JobView::find_process(sim::NodeId node, sim::Pid pid) {
  if (node.value >= machines_.size()) return nullptr;
  for (Process& process : machines_[node.value].processes) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}

/// Traces without process events (another world's, a test's) still announce agents and workers.
Process& JobView::process_slot(sim::NodeId node, sim::Pid pid, const sim::Event& event) {
  Process* found = find_process(node, pid);
  if (found == nullptr) {
    found = &machine(node).processes.emplace_back();
  } else if (!found->ended) {
    return *found;
  }
  *found = Process{};
  found->pid = pid;
  found->born = event.id;
  found->started = event.at;
  return *found;
}

JobId JobView::job_named(std::string_view run_id) {
  const JobId known = find_job(run_id);
  if (known != kNoJob) return known;
  jobs_.emplace_back().run_id = run_id;
  return JobId{static_cast<std::uint32_t>(jobs_.size() - 1)};
}

// ---- events

std::span<const sim::EventType* const> JobView::interests() {
  static constexpr std::array kFollowed{
      &wev::process_started,     &wev::process_ended,     &wev::process_signalled,
      &wev::fault_injected,      &wev::fault_took_effect, &wev::fault_ended,
      &wev::fiber_held_up,       &ev::agent_started,      &ev::agent_settings,
      &ev::agent_signalled,      &ev::agent_finished,     &ev::group_state,
      &ev::group_restarting,     &ev::worker_started,     &ev::worker_ended,
      &ev::exit_barrier_entered, &ev::exit_barrier_left,  &ev::ranks_assigned,
      &ev::rendezvous_joining,   &ev::rendezvous_joined,  &ev::rendezvous_completed,
      &ev::rendezvous_added,     &ev::rendezvous_left,    &ev::rendezvous_failed,
      &ev::rendezvous_evicted,   &ev::restart_refused,    &ev::worker_signalled,
      &ev::store_serving,        &ev::store_stopped,      &ev::failure_reported,
      &ev::job_given_up,         &ev::shutdown_settings,  &ev::coverage_point,
  };
  return kFollowed;
}

void JobView::see(const sim::Event& event) {
  if (event.id <= seen_) return;
  seen_ = event.id;
  if (event.node == sim::kNoNode || event.type == &wev::process_started ||
      event.type == &wev::process_ended || event.type == &wev::process_signalled ||
      event.type == &wev::fiber_held_up) {
    on_world_event(event);
  } else if (event.type == &ev::agent_started) {
    on_agent_started(event);
  } else if (event.type == &ev::store_serving) {
    if (event.field("purpose").text() != "rendezvous") return;
    on_store_serving(event);
  } else if (event.type == &ev::store_stopped) {
    const auto store = stores_.find({event.node, event.pid});
    if (store != stores_.end() && services_[store->second].port == event.field("port").number())
      on_store_gone(event, false);
  } else if (const AgentId id = agent_of(event); id != kNoAgent) {
    on_agent_event(event, agents_[id.value], id);
  }
}

void JobView::on_world_event(const sim::Event& event) {
  if (event.type == &wev::process_started) {
    on_process_started(event);
  } else if (event.type == &wev::process_ended) {
    on_process_ended(event);
  } else if (event.type == &wev::process_signalled) {
    on_process_signalled(event);
  } else if (event.type == &wev::fault_injected) {
    on_fault(event);
  } else if (event.type == &wev::fault_took_effect) {
    on_fault_felt(event);
  } else if (event.type == &wev::fault_ended) {
    ledger_.end(event.field("fault").number(),
                event.at + sim::Duration(event.field("lingers").number()));
  } else if (event.type == &wev::fiber_held_up) {
    ledger_.hold_up(event.node, event.pid, event.at,
                    event.at + sim::Duration(event.field("span").number()));
  }
}

void JobView::on_fault(const sim::Event& event) {
  const std::int64_t fault = event.field("fault").number();
  const std::string_view kind = event.field("kind").text(), target = event.field("target").text();
  ledger_.begin(fault, kind, target, event.at, sim::Duration(event.field("for").number()),
                [this](std::string_view name) { return node_called(name); });
  stop_leases(event.at);
  if (kind == "etcd_expiry") forget_leases();
}

void JobView::on_fault_felt(const sim::Event& event) {
  const Hindrance* const felt = ledger_.felt(event.field("fault").number(), event.at);
  if (felt == nullptr || (felt->effect->hinders & kOwnErrors) == 0 || felt->side.empty()) return;
  const AgentId id = agent_at(felt->side.front(), felt->pid.value_or(sim::Pid{}));
  if (id != kNoAgent) ++agents_[id.value].errors;
}

void JobView::on_process_started(const sim::Event& event) {
  std::vector<Process>& processes = machine(event.node).processes;
  Process process;
  process.pid = event.pid;
  process.born = event.id;
  process.started = event.at;
  AgentId starter = kNoAgent;
  if (const Process* parent = find_process(event.node, pid(event, "parent_pid"))) {
    starter = parent->agent;
    process.owner = starter != kNoAgent ? starter : parent->owner;
  }
  // How its workers ended is a fact about an agent until it ends itself or starts its next group.
  std::erase_if(processes, [&](const Process& old) {
    const bool matters = old.worker && old.owner != kNoAgent && old.owner != starter &&
                         agents_[old.owner.value].alive();
    return old.pid == event.pid || (old.ended && !matters);
  });
  processes.push_back(process);
}

void JobView::on_process_ended(const sim::Event& event) {
  on_store_gone(event, event.field("status").number() < 0);
  Process* const process = find_process(event.node, event.pid);
  if (process == nullptr || process->ended) return;
  process->ended = event.at;
  process->status = event.field("status").number();
  if (process->agent != kNoAgent) end_agent(agents_[process->agent.value], event.at);
}

void JobView::on_process_signalled(const sim::Event& event) {
  Process* const target = find_process(event.node, event.pid);
  if (target == nullptr || target->ended) return;
  const sim::Pid from = pid(event, "from_pid");
  const bool own = target->owner != kNoAgent && agents_[target->owner.value].pid == from;
  if (own && !target->told_to_stop) target->told_to_stop = event.at;
  if (!own) target->hit_from_outside = true;
  if (target->agent == kNoAgent) return;
  Agent& agent = agents_[target->agent.value];
  const std::int64_t signal = event.field("signal").number();
  agent.signals.insert(signal);
  if (tells_to_end(signal) && !agent.signalled) agent.signalled = event.at;
}

void JobView::on_agent_started(const sim::Event& event) {
  const AgentId id{static_cast<std::uint32_t>(agents_.size())};
  Process& process = process_slot(event.node, event.pid, event);
  // A process that runs a failed job again is another agent, of another job.
  if (process.agent != kNoAgent) end_agent(agents_[process.agent.value], event.at);
  process.agent = id;
  machine(event.node).latest_agent = id;
  Agent agent;
  agent.node = event.node;
  agent.pid = event.pid;
  agent.job = job_named(event.field("run_id").text());
  agent.started = agent.stage_since = event.at;
  agent.min_nodes = event.field("min_nodes").number();
  agent.max_nodes = event.field("max_nodes").number();
  agent.local_world_size = event.field("local_world_size").number();
  agent.max_restarts = event.field("max_restarts").number();
  const Given* const known = given(event.node);
  agent.timeouts.shutdown =
      known == nullptr ? sim::Duration(event.field("shutdown").number()) : known->spans.shutdown;
  Job& job = jobs_[agent.job.value];
  if (job.living++ == 0) {  // a relaunch under the same run id begins anew
    job.over.reset();
    for (auto& [number, round] : job.rounds) round.in_barrier.clear();
  }
  job.backend = event.field("backend").text();
  job.max_restarts = std::max(job.max_restarts, agent.max_restarts);
  job.min_nodes = agent.min_nodes;
  job.timeouts.widen(agent.timeouts);
  job.agents.push_back(id);
  if (const auto store = stores_.find({event.node, event.pid}); store != stores_.end()) {
    services_[store->second].agent = id;  // handed on to it
    services_[store->second].job = agent.job;
  }
  agents_.push_back(std::move(agent));
  if (job.backend == "etcd") stop_leases(event.at);
}

void JobView::on_agent_event(const sim::Event& event, Agent& agent, AgentId id) {
  if (event.type == &ev::worker_started) {
    on_worker_started(event, agent, id);
  } else if (event.type == &ev::worker_ended) {
    on_worker_ended(event);
  } else if (event.type == &ev::group_state) {
    const std::string_view state = event.field("state").text();
    if (state == "HEALTHY") enter(agent, Stage::running, event.at);
    if (state == "SUCCEEDED" || state == "FAILED") enter(agent, Stage::stopping, event.at);
    if (state == "FAILED" && event.field("restart_count").number() >= agent.max_restarts) {
      agent.failed_for_good = true;
      decide(agent, event.at,
             "the workers of node " + name(agent.node) + " had failed and no restart was left");
    }
  } else if (event.type == &ev::worker_signalled) {
    // Where a pool's process delivers it, process.signalled does not say whose will it was.
    Process* const target = find_process(event.node, pid(event, "worker_pid"));
    if (target != nullptr && !target->ended && !target->told_to_stop)
      target->told_to_stop = event.at;
  } else if (event.type == &ev::failure_reported) {
    agent.failed_for_good = true;  // whatever the restarts that are left: a policy may forbid them
    decide(agent, event.at,
           "node " + name(agent.node) + " had reported the failure of its workers");
  } else if (event.type == &ev::job_given_up) {
    enter(agent, Stage::stopping, event.at);
    agent.failed_for_good = true;
    decide(agent, event.at, "node " + name(agent.node) + " had given it up");
  } else if (event.type == &ev::restart_refused) {
    agent.failed_for_good = true;
    decide(agent, event.at,
           "the workers of node " + name(agent.node) + " had failed, and " +
               std::string(event.field("reason").text()));
  } else if (event.type == &ev::group_restarting) {
    enter(agent, Stage::restarting, event.at);
  } else if (event.type == &ev::exit_barrier_entered) {
    on_barrier_entered(event, agent);
  } else if (event.type == &ev::exit_barrier_left) {
    enter(agent, Stage::stopping, event.at);
    agent.barrier_left = event.at;
    if (agent.member && event.field("result").text() == "others_return")  // it is done no longer
      jobs_[agent.job.value].rounds[agent.round].in_barrier.erase(agent.rank);
  } else if (event.type == &ev::agent_settings || event.type == &ev::shutdown_settings) {
    on_settings(event, agent);
  } else if (event.type == &ev::agent_signalled) {
    // Traces of real agents have no process.signalled.
    if (!agent.signalled) agent.signals.insert(event.field("signal").number());
    if (!agent.signalled) agent.signalled = event.at;
  } else if (event.type == &ev::agent_finished) {
    agent.outcome = event.field("outcome").text();
    enter(agent, Stage::finished, event.at);
  } else {
    on_rendezvous_event(event, agent, id);
  }
}

void JobView::on_settings(const sim::Event& event, Agent& agent) {
  const auto span = [&](std::string_view field) {
    return sim::Duration(event.field(field).number());
  };
  const Given* const known = given(agent.node);
  if (known != nullptr && event.type == &ev::agent_settings) {
    agent.timeouts = known->spans;
  } else if (event.type == &ev::agent_settings) {
    agent.timeouts = {span("join"),      span("last_call"),    span("close"),
                      span("heartbeat"), span("keep_alive"),   span("read_timeout"),
                      span("monitor"),   span("exit_barrier"), agent.timeouts.shutdown,
                      sim::Duration(),   sim::Duration(),      sim::Duration()};
  } else if (agent.timeouts.parting == sim::Duration()) {
    // The agent says that it is done, and the first and the last look at the others take as long as
    // the store does.
    agent.timeouts.parting = span("limit") + 3 * agent.timeouts.read_timeout;
  }
  jobs_[agent.job.value].timeouts.widen(agent.timeouts);
}

// ---- consequences

void JobView::enter(Agent& agent, Stage stage, sim::WorldTime at) {
  Job& job = jobs_[agent.job.value];
  if (agent.stage == Stage::joining) --job.joining;
  if (agent.stage == Stage::joining || stage == Stage::joining) agent.spare = false;
  if (stage == Stage::joining) ++job.joining;
  if (stage == Stage::joining || stage == Stage::finished) seat(agent, false);
  if (stage != Stage::stopping && stage != Stage::finished) agent.errors = 0;
  count_leaving(agent, -1);
  agent.stage = stage;
  count_leaving(agent, 1);
  agent.stage_since = at;
}

void JobView::end_agent(Agent& agent, sim::WorldTime at) {
  Job& job = jobs_[agent.job.value];
  if (agent.stage == Stage::joining) --job.joining;
  seat(agent, false);
  --job.living;
  agent.ended = at;
}

void JobView::seat(Agent& agent, bool member) {
  if (agent.member == member) return;
  count_leaving(agent, -1);
  agent.member = member;
  count_leaving(agent, 1);
  Job& job = jobs_[agent.job.value];
  job.seated += member ? 1 : -1;
  job.rounds[agent.round].current_members += member ? 1 : -1;
}

void JobView::count_leaving(const Agent& agent, std::int64_t step) {
  if (!agent.member || agent.stage != Stage::stopping) return;
  jobs_[agent.job.value].rounds[agent.round].leaving_members += step;
}

/// What becomes of an agent without which the others have begun another round is nothing to them.
void JobView::decide(const Agent& agent, sim::WorldTime at, std::string why) {
  Job& job = jobs_[agent.job.value];
  if (agent.round >= job.highest_completed) decide(job, at, agent.round, std::move(why));
}

void JobView::decide(Job& job, sim::WorldTime at, std::int64_t round, std::string why) {
  if (job.over) return;
  job.decided = {round, at};
  job.over = at;
  job.over_by = std::move(why);
}

}  // namespace hooke::properties
