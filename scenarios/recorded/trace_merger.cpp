// The order is that of the machine's monotonic clock, which all its processes share.
#include "scenarios/recorded/trace_merger.h"

#include <charconv>

#include "model/observe/trace_events.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/recorded/worker_events.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {

namespace ev = model::events;
namespace wev = world::events;

namespace {

/// "0/2" as two numbers.
std::pair<std::int64_t, std::int64_t> group_of(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::pair<std::int64_t, std::int64_t> out{0, 0};
  std::from_chars(text.data(), text.data() + slash, out.first);
  if (slash < text.size()) {
    std::from_chars(text.data() + slash + 1, text.data() + text.size(), out.second);
  }
  return out;
}

std::pair<std::string, std::int64_t> host_and_port(const std::string& endpoint) {
  const std::size_t colon = std::min(endpoint.rfind(':'), endpoint.size());
  std::int64_t port = 0;
  if (colon < endpoint.size()) {
    std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
  }
  return {endpoint.substr(0, colon), port};
}

bool leaves_a_barrier(const RawEvent& event) {
  if (event.type == &ev::exit_barrier_left) return true;
  return event.type == &events::agent_logged &&
         static_cast<Logged>(event.number("what")) == Logged::exit_barrier_left;
}

}  // namespace

TraceMerger::TraceMerger(AgentKind kind, const Scenario& scenario,
                         const std::vector<std::string>& node_names, sim::WorldTime begin)
    : kind_(kind), scenario_(scenario), node_names_(node_names), begin_(begin) {}

TraceMerger::~TraceMerger() = default;

/// torchrun's log cuts its times to milliseconds: within one, an agent may come to the exit barrier
/// and open it for others.
void TraceMerger::note(RawEvent event) {
  if (event.wall) ahead_[event.node] = event.wall->time_since_epoch() - event.at.time_since_epoch();
  const Key own{event.node, event.pid};
  if (leaves_a_barrier(event)) left_barrier_[own] = event.at;
  const auto left = left_barrier_.find(own);
  const bool is_behind = left != left_barrier_.end() && left->second == event.at;
  const std::pair place(event.at, is_behind);
  noted_.emplace(place, std::move(event));
}

void TraceMerger::tell(sim::WorldTime until) {
  while (!noted_.empty() && noted_.begin()->first.first <= until) {
    RawEvent event = std::move(noted_.extract(noted_.begin()).mapped());
    const sim::Duration late = std::max(told_until_ - event.at, sim::Duration::zero());
    event.at = told_until_ = std::max(told_until_, event.at);
    // What it tells of began when it did, all the same.
    if (event.type == &ev::rendezvous_exchanged) {
      if (auto* const began = std::get_if<std::int64_t>(&event.field("began"))) {
        *began += late.count();
      }
    }
    tell_one(event);
  }
}

std::vector<TraceMerger::Worker> TraceMerger::living_workers() const {
  std::vector<Worker> out;
  for (const auto& [key, worker] : workers_) out.push_back(worker);
  return out;
}

void TraceMerger::tell_one(const RawEvent& event) {
  const Key own{event.node, event.pid};
  if (event.type == &events::worker_reported) {
    if (kind_ == AgentKind::torchrun) tell_reported(event);
  } else if (event.type == &events::agent_logged) {
    tell_logged(event, static_cast<Logged>(event.number("what")));
  } else if (event.type == &events::worker_exits) {
    if (const auto worker = workers_.find(own); worker != workers_.end()) {
      worker->second.exit_code = event.number("code");
    }
  } else if (event.type == &wev::process_started) {
    born_[own] = emit(event);
  } else if (event.type == &wev::process_ended) {
    if (workers_.contains(own)) {
      worker_ends(event, event.pid, event.number("status"));
    } else if (!over_.contains(own)) {
      // An agent that is gone restarts nothing, although its workers may be told to end after it.
      if (const auto seat = seats_.find(own); seat != seats_.end()) seat->second.left = true;
      emit(event);
    }
  } else if (event.type == &ev::worker_started) {
    const sim::Pid worker{static_cast<std::int32_t>(event.number("worker_pid"))};
    worker_begins(event, worker, event.pid, event.number("local_rank"), event.number("rank"));
    emit(event);
  } else if (event.type == &ev::worker_signalled) {
    const sim::Pid worker{static_cast<std::int32_t>(event.number("worker_pid"))};
    emit(event);
    emit(
        event, worker, wev::process_signalled,
        {event.pid.value, worker.value, event.number("signal"), born_[{event.node, worker}].value});
  } else if (event.type == &ev::worker_ended) {
    const sim::Pid worker{static_cast<std::int32_t>(event.number("worker_pid"))};
    worker_ends(event, worker, event.number("status"));
    emit(event);
  } else {
    emit(event);
  }
}

void TraceMerger::worker_begins(const RawEvent& like, sim::Pid worker, sim::Pid agent,
                                std::int64_t local_rank, std::int64_t rank) {
  const Key key{like.node, worker};
  over_.erase(key);
  born_[key] =
      emit(like, worker, wev::process_started, {agent.value, kWorkerProgram, worker.value});
  workers_[key] = {like.node, worker, agent, local_rank, rank, std::nullopt};
}

/// An agent that sees it first says it: the agent that reaps, or the cluster that finds an orphan
/// gone.
void TraceMerger::worker_ends(const RawEvent& like, sim::Pid worker, std::int64_t status) {
  const auto found = workers_.extract(Key{like.node, worker});
  if (!found) return;
  const Worker& gone = found.mapped();
  over_.insert(found.key());
  // A torchrun agent says nothing of the signal by which it stops its workers.
  const bool stopped =
      kind_ == AgentKind::torchrun && status == -static_cast<int>(sim::Signal::term);
  if (stopped) {
    emit(like, worker, wev::process_signalled,
         {gone.agent.value, worker.value, static_cast<int>(sim::Signal::term),
          born_[{like.node, worker}].value});
  }
  emit(like, worker, wev::process_ended, {status});
  if (kind_ == AgentKind::torchrun) {
    emit(like, gone.agent, ev::worker_ended,
         {worker.value, gone.local_rank, gone.rank, status, stopped});
    Seat& seat = seats_[{like.node, gone.agent}];
    const bool again = seat.restarts < scenario_.protocol.agent.max_restarts;
    if (status != 0 && !stopped && again && !seat.left) {
      leaves(like, gone.agent, seat, "worker_failure");
    }
  }
}

/// An agent that starts its workers again leaves its round first.
void TraceMerger::leaves(const RawEvent& like, sim::Pid agent, Seat& seat, const char* cause) {
  seat.left = true;
  emit(like, agent, ev::group_restarting,
       {cause, scenario_.protocol.agent.max_restarts - seat.restarts, seat.round});
  emit(like, agent, ev::rendezvous_left, {kRunId, seat.round, 0});
}

/// A worker that begins tells of its agent's round: the agent has joined it, and somebody has
/// completed it.
void TraceMerger::tell_reported(const RawEvent& event) {
  const sim::Pid agent{static_cast<std::int32_t>(event.number("agent_pid"))};
  const std::int64_t round = event.number("round");
  const std::int64_t restarts = event.number("restart_count");
  const auto [group_rank, group_size] = group_of(event.text("group"));
  const auto [host, port] = host_and_port(event.text("master"));
  const std::string run_id(kRunId);
  const RendezvousPlan& plan = scenario_.protocol.rendezvous;
  const bool had_seat = seats_.contains({event.node, agent});
  Seat& seat = seats_[{event.node, agent}];
  if (!had_seat || seat.round != round || seat.restarts != restarts) {
    const std::string descriptor =
        node_names_[event.node.value] + "_" + std::to_string(agent.value) + "_0";
    if (had_seat) {
      if (!seat.left) leaves(event, agent, seat, "membership_change");
      emit(event, agent, ev::rendezvous_joining, {run_id, descriptor, seat.round});
    }
    if (round > completed_) {
      emit(event, agent, ev::rendezvous_completed,
           {run_id, round, group_size, plan.min_nodes, plan.max_nodes});
      completed_ = round;
    }
    emit(event, agent, ev::rendezvous_joined,
         {run_id, descriptor, round, group_rank, group_size, host, port});
    seat = {round, restarts, group_size, false};
  }
  worker_begins(event, event.pid, agent, event.number("local_rank"), event.number("rank"));
  emit(event, agent, ev::worker_started,
       {run_id, round, event.pid.value, event.number("local_rank"), event.number("rank"),
        event.number("world_size"), restarts, event.text("master")});
  emit(event, agent, ev::group_state, {"HEALTHY", restarts});
}

/// An agent that still has restarts has been told to leave its round already (worker_ends).
void TraceMerger::tell_logged(const RawEvent& event, Logged what) {
  const Seat& seat = seats_[{event.node, event.pid}];
  switch (what) {
    case Logged::worker_failed:
      if (seat.restarts >= scenario_.protocol.agent.max_restarts)
        emit(event, event.pid, ev::group_state, {"FAILED", seat.restarts});
      return;
    case Logged::exit_barrier_entered:
      emit(event, event.pid, ev::exit_barrier_entered, {kRunId, seat.round, seat.size});
      return;
    case Logged::exit_barrier_left:
      emit(event, event.pid, ev::exit_barrier_left, {kRunId, seat.round, "", 0});
      return;
    case Logged::closed:
      emit(event, event.pid, ev::rendezvous_closed, {kRunId, seat.round});
      return;
  }
}

/// What the node's clock said, as far as one of its processes has told.
sim::WallTime TraceMerger::wall(const RawEvent& event) {
  return sim::WallTime(event.at.time_since_epoch() + ahead_[event.node]);
}

sim::EventId TraceMerger::emit(const RawEvent& like, sim::Pid pid, const sim::EventType& type,
                               std::initializer_list<sim::FieldValue> fields) {
  return recorder_.emit(cause_, sim::WorldTime(like.at - begin_), wall(like), like.node, pid, type,
                        {fields.begin(), fields.size()});
}

sim::EventId TraceMerger::emit(const RawEvent& event) {
  return recorder_.emit(cause_, sim::WorldTime(event.at - begin_), wall(event), event.node,
                        event.pid, *event.type, event.values());
}

}  // namespace hooke::scenario
