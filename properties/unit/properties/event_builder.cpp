// Each verb of a script emits what the simulated world and the model emit for it, in their order.
#include "event_builder.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::properties::test {

namespace ev = model::events;
namespace wev = world::events;

Script::Script(AgentSettings with, const InvariantRegistry& registry)
    : settings(std::move(with)), set_(registry) {}

Script& Script::at(sim::Duration time) {
  HOOKE_CHECK(sim::WorldTime(time) >= now_, "a script's time never goes back");
  now_ = sim::WorldTime(time);
  return *this;
}

Script::Node& Script::node(const std::string& name) {
  const auto [entry, fresh] = nodes_.try_emplace(name);
  if (fresh) {
    entry->second.id = sim::NodeId{static_cast<std::uint32_t>(nodes_.size() - 1)};
    set_.call(entry->second.id, name);
  }
  return entry->second;
}

void Script::deliver(sim::NodeId where, std::int64_t pid, const sim::EventType& type,
                     std::initializer_list<sim::FieldValue> fields) {
  HOOKE_CHECK(fields.size() == type.field_count, "an event carries exactly the fields of its type");
  const sim::EventId id{next_event_++};
  set_.on_event({id,
                 sim::kNoEvent,
                 now_,
                 sim::WallTime{},
                 where,
                 sim::Pid{static_cast<std::int32_t>(pid)},
                 &type,
                 {fields.begin(), fields.size()}});
}

Script& Script::emit(const std::string& name, std::int64_t pid, const sim::EventType& type,
                     std::initializer_list<sim::FieldValue> fields) {
  deliver(node(name).id, pid, type, fields);
  return *this;
}

Script& Script::world(const sim::EventType& type, std::initializer_list<sim::FieldValue> fields) {
  deliver(sim::kNoNode, 0, type, fields);
  return *this;
}

std::int64_t Script::next_pid(const std::string& name) {
  return node(name).next_pid++;
}

std::int64_t Script::start_process(const std::string& name, std::int64_t parent,
                                   const std::string& program) {
  const std::int64_t pid = next_pid(name);
  emit(name, pid, wev::process_started, {parent, program, pid});
  return pid;
}

std::int64_t Script::agent_pid(const std::string& name) const {
  return nodes_.at(name).agent;
}

std::int64_t Script::worker_pid(const std::string& name, std::int64_t local_rank) const {
  return nodes_.at(name).workers.at(static_cast<std::size_t>(local_rank)).pid;
}

// ---- agents

Script& Script::agent_starts(const std::string& name) {
  Node& here = node(name);
  here.agent = start_process(name, 0, "agent");
  here.failures = 0;
  here.workers.clear();
  const AgentSettings& with = settings;
  emit(name, here.agent, ev::agent_started,
       {with.run_id, with.backend, with.min_nodes, with.max_nodes, with.local_world_size,
        with.max_restarts, with.shutdown});
  return emit(name, here.agent, ev::agent_settings,
              {with.join, with.last_call, with.close, with.heartbeat, with.keep_alive,
               with.read_timeout, with.monitor, with.exit_barrier});
}

Script& Script::given(const std::string& name, const AgentSettings& with) {
  Given given;
  given.spans = {with.join,       with.last_call,    with.close,   with.heartbeat,
                 with.keep_alive, with.read_timeout, with.monitor, with.exit_barrier,
                 with.shutdown,   with.stop};
  given.workers_meet_first = with.workers_meet_first;
  given.pauses = with.pauses;
  if (with.pauses) given.spans.pause = with.pauses->after(with.max_restarts);
  given.alone = with.alone;
  given.attempts = with.attempts;
  given.waits = with.waits;
  set_.give(node(name).id, std::make_shared<const Given>(given));
  return *this;
}

Script& Script::joining(const std::string& name) {
  const std::int64_t pid = agent_pid(name);
  const std::string descriptor = name + ".sim_" + std::to_string(pid) + "_0";
  return emit(name, pid, ev::rendezvous_joining, {settings.run_id, descriptor, node(name).round});
}

Script& Script::added(const std::string& name, const std::string& list, std::int64_t round) {
  return emit(name, agent_pid(name), ev::rendezvous_added, {settings.run_id, round, list, 1});
}

Script& Script::completed(const std::string& name, std::int64_t round, std::int64_t participants) {
  return emit(name, agent_pid(name), ev::rendezvous_completed,
              {settings.run_id, round, participants, settings.min_nodes, settings.max_nodes});
}

Script& Script::joined(const std::string& name, std::int64_t round, std::int64_t rank,
                       std::int64_t size, const std::string& master) {
  Node& here = node(name);
  here.round = round;
  here.rank = rank;
  here.size = size;
  here.master = master;
  here.base_rank = rank * settings.local_world_size;
  here.world_size = size * settings.local_world_size;
  const std::string descriptor = name + ".sim_" + std::to_string(here.agent) + "_0";
  emit(name, here.agent, ev::rendezvous_joined,
       {settings.run_id, descriptor, round, rank, size, host_of(master), 29500});
  return emit(name, here.agent, ev::ranks_assigned,
              {settings.run_id, round, rank, size, here.base_rank, here.world_size});
}

Script& Script::workers_start(const std::string& name) {
  Node& here = node(name);
  here.workers.clear();
  for (std::int64_t i = 0; i < settings.local_world_size; ++i) {
    here.workers.push_back({start_process(name, here.agent, "worker"), i, here.base_rank + i});
  }
  for (const Worker& worker : here.workers) {
    emit(name, here.agent, ev::worker_started,
         {settings.run_id, here.round, worker.pid, worker.local_rank, worker.rank, here.world_size,
          here.failures, here.master});
  }
  return group(name, "HEALTHY");
}

Script& Script::form(std::int64_t round, const std::vector<std::string>& names) {
  const auto size = static_cast<std::int64_t>(names.size());
  for (const std::string& name : names) joining(name);
  for (const std::string& name : names) added(name, "participants", round);
  // With all its seats taken: no last call is due.
  emit(names.back(), agent_pid(names.back()), ev::rendezvous_completed,
       {settings.run_id, round, size, settings.min_nodes, size});
  std::int64_t rank = 0;
  for (const std::string& name : names)
    joined(name, round, rank++, size, names.front() + ".sim:29500");
  for (const std::string& name : names) workers_start(name);
  return *this;
}

Script& Script::group(const std::string& name, const std::string& state) {
  return emit(name, agent_pid(name), ev::group_state, {state, node(name).failures});
}

Script& Script::restarts(const std::string& name, const std::string& cause) {
  Node& here = node(name);
  if (cause == "worker_failure") {
    group(name, "FAILED");
    ++here.failures;
  }
  emit(name, here.agent, ev::group_restarting,
       {cause, settings.max_restarts - here.failures, here.round});
  stops_workers(name);
  return group(name, "STOPPED");
}

Script& Script::enters_barrier(const std::string& name) {
  const Node& here = node(name);
  return emit(name, here.agent, ev::exit_barrier_entered, {settings.run_id, here.round, here.size});
}

Script& Script::leaves_barrier(const std::string& name, const std::string& result) {
  const Node& here = node(name);
  return emit(name, here.agent, ev::exit_barrier_left, {settings.run_id, here.round, result, 0});
}

Script& Script::finishes(const std::string& name, const std::string& outcome, std::int64_t code,
                         const std::string& detail) {
  emit(name, agent_pid(name), ev::agent_finished, {outcome, code, detail});
  return process_ends(name, agent_pid(name), code);
}

Script& Script::succeed(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const Worker& worker : node(name).workers) worker_ends(name, worker.local_rank, 0);
    reaps(name).group(name, "SUCCEEDED").enters_barrier(name);
  }
  for (const std::string& name : names) leaves_barrier(name, "passed");
  closes(names.front());
  for (const std::string& name : names) finishes(name, "succeeded", 0);
  return *this;
}

Script& Script::closes(const std::string& name) {
  return emit(name, agent_pid(name), ev::rendezvous_closed, {settings.run_id, node(name).round});
}

// ---- workers

Script& Script::worker_ends(const std::string& name, std::int64_t local_rank, std::int64_t status) {
  return process_ends(name, worker_pid(name, local_rank), status);
}

Script& Script::reaps(const std::string& name) {
  Node& here = node(name);
  for (Worker& worker : here.workers) {
    if (!worker.ended || worker.reaped) continue;
    worker.reaped = true;
    emit(name, here.agent, ev::worker_ended,
         {worker.pid, worker.local_rank, worker.rank, worker.status, worker.stopped});
  }
  return *this;
}

Script& Script::stops_workers(const std::string& name) {
  Node& here = node(name);
  reaps(name);
  for (Worker& worker : here.workers) {
    if (worker.ended) continue;
    worker.stopped = true;
    emit(name, here.agent, ev::worker_signalled, {worker.pid, 15, "stop"});
    emit(name, worker.pid, wev::process_signalled, {here.agent, worker.pid, 15, 0});
    process_ends(name, worker.pid, -15);
  }
  return reaps(name);
}

// ---- the world

Script& Script::signal_agent(const std::string& name, sim::Signal signal) {
  return emit(name, agent_pid(name), wev::process_signalled,
              {0, agent_pid(name), static_cast<int>(signal), 0});
}

Script& Script::kill_agent(const std::string& name) {
  signal_agent(name, sim::Signal::kill);
  process_ends(name, agent_pid(name), -9);
  for (const Worker& worker : node(name).workers) {
    if (!worker.ended) emit(name, worker.pid, wev::process_orphaned, {agent_pid(name)});
  }
  return *this;
}

Script& Script::process_ends(const std::string& name, std::int64_t pid, std::int64_t status) {
  for (Worker& worker : node(name).workers) {
    if (worker.pid != pid) continue;
    worker.ended = true;
    worker.status = status;
  }
  return emit(name, pid, wev::process_ended, {status});
}

Script& Script::crash(const std::string& name) {
  world(wev::node_crashed, {name});
  process_ends(name, agent_pid(name), -9);
  for (const Worker& worker : node(name).workers) {
    if (!worker.ended) process_ends(name, worker.pid, -9);
  }
  return *this;
}

Script& Script::fault(std::int64_t fault, const std::string& kind, sim::Duration lasts,
                      const std::string& target) {
  return world(wev::fault_injected, {fault, kind, target, lasts});
}

Script& Script::core_healed(const std::string& nodes, sim::Duration work, sim::Duration peers,
                            const std::string& endless) {
  return world(wev::core_healed, {nodes, work, peers, endless});
}

Script& Script::held_up(const std::string& name, sim::Duration span) {
  return emit(name, agent_pid(name), wev::fiber_held_up, {"keep_alive", span});
}

Script& Script::fault_took_effect(std::int64_t fault, const std::string& kind) {
  return world(wev::fault_took_effect, {fault, kind});
}

Script& Script::fault_over(std::int64_t fault, const std::string& kind, sim::Duration lingers) {
  return world(wev::fault_ended, {fault, kind, lingers});
}

Script& Script::serves_store(const std::string& name, std::int64_t port) {
  emit(name, agent_pid(name), wev::listener_opened, {port});
  return emit(name, agent_pid(name), ev::store_serving, {port, "rendezvous"});
}

Script& Script::store_starts() {
  store_ = start_process("s", 0, "store");
  emit("s", store_, wev::listener_opened, {29400});
  return emit("s", store_, ev::store_serving, {29400, "rendezvous"});
}

Script& Script::store_dies() {
  return process_ends("s", store_, -9);
}

std::vector<Violation> Script::finish(bool finished) {
  return set_.finish({now_, finished, {}});
}

std::vector<std::string> ids(const std::vector<Violation>& violations) {
  std::vector<std::string> out;
  for (const Violation& violation : violations) {
    if (std::find(out.begin(), out.end(), violation.invariant) == out.end())
      out.push_back(violation.invariant);
  }
  return out;
}

std::vector<std::string> limits(const std::vector<Violation>& violations, const std::string& id) {
  std::vector<std::string> out;
  for (const Violation& violation : violations) {
    if (violation.invariant == id) out.push_back(violation.limit);
  }
  return out;
}

Script two_nodes_at_work(AgentSettings settings) {
  Script script(std::move(settings));
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").at(1s).form(0, {"a", "b"});
  return script;
}

Script at_work_beside_a_store(const std::vector<std::string>& nodes, AgentSettings settings) {
  Script script(std::move(settings));
  script.store_starts();
  for (const std::string& node : nodes) script.agent_starts(node);
  script.at(1s).form(0, nodes);
  return script;
}

std::string verdict(Script& script, const std::string& id) {
  static_cast<void>(script.finish(false));
  const Account account = script.accounts().at(id);
  if (account.broken > 0) return "broken";
  if (account.excused > 0) return "excused by " + account.excused_by.begin()->first;
  if (account.kept > 0) return "kept";
  return account.open > 0 ? "open" : "nothing owed";
}

std::string witnesses(const std::vector<Violation>& violations, const std::string& id) {
  std::string out;
  for (const Violation& violation : violations) {
    if (violation.invariant == id) out += violation.witness + "\n";
  }
  return out;
}

}  // namespace hooke::properties::test
