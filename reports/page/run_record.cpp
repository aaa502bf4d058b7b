// Follows agents and workers from event to event.
#include "reports/page/run_record.h"

#include <algorithm>

#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
namespace wev = world::events;

std::string text_of(const sim::Event& event, std::string_view name) {
  return std::string(event.field(name).text());
}

}  // namespace

RunRecord::RunRecord(std::vector<std::string> node_names) : node_names_(std::move(node_names)) {}

std::string RunRecord::name_of(sim::NodeId node) const {
  if (node == sim::kNoNode) return {};
  return node.value < node_names_.size() ? node_names_[node.value] : std::to_string(node.value);
}

void RunRecord::on_event(const sim::Event& event) {
  end_ = std::max(end_, event.at);
  tell(event);
  store_.see(event, name_of(event.node));
  deadlines_.see(event, name_of(event.node));
  if (event.type == &wev::fault_injected) {
    faults_.push_back({phrases_.faults().of(event) + " " + text_of(event, "target"), event.at,
                       static_cast<std::uint64_t>(event.field("fault").number())});
    return;
  }
  const Process process{event.node, event.pid};
  if (event.type == &ev::agent_started) {
    Agent& agent = agents_[process];
    agent = {Phase::rendezvous, event.at, event.at, text_of(event, "run_id"), -1};
    return;
  }
  if (const auto agent = agents_.find(process); agent != agents_.end()) {
    follow_agent(event, agent->second);
  }
  follow_processes(event);
}

void RunRecord::tell(const sim::Event& event) {
  std::string text = phrases_(event);
  if (text.empty()) return;
  ++line_count_;
  if (lines_.size() < kLines) {
    lines_.push_back({event.at, event.id.value, name_of(event.node), std::move(text)});
  }
}

void RunRecord::enter(Phase phase, const sim::Event& event, Agent& agent) {
  if (phase == agent.phase) return;
  close(event.node, agent, event.at);
  agent.phase = phase;
  agent.since = event.at;
}

void RunRecord::close(sim::NodeId node, const Agent& agent, sim::WorldTime at) {
  if (at <= agent.since) return;
  segments_[node].push_back({agent.phase, agent.since, at, agent.run_id, agent.round});
}

void RunRecord::follow_agent(const sim::Event& event, Agent& agent) {
  if (event.type == &ev::rendezvous_joining) {
    enter(Phase::rendezvous, event, agent);
    agent.round = -1;
    agent.wanted = event.at;
  } else if (event.type == &ev::rendezvous_completed) {
    const Round round{text_of(event, "run_id"), event.field("round").number()};
    RoundRecord& record = rounds_[round];
    record.run_id = round.first;
    record.round = round.second;
    record.completed = event.at;
  } else if (event.type == &ev::rendezvous_joined) {
    joined(event, agent);
  } else if (event.type == &ev::worker_started) {
    const Round round{agent.run_id, event.field("round").number()};
    if (agent.phase != Phase::training) {
      enter(Phase::training, event, agent);
      agent.round = round.second;
    }
    workers_[{event.node,
              sim::Pid{static_cast<std::int32_t>(event.field("worker_pid").number())}}] = round;
  } else if (event.type == &ev::group_restarting) {
    const auto round = rounds_.find({agent.run_id, agent.round});
    if (round != rounds_.end() && round->second.ended_by.empty()) {
      round->second.ended_by = name_of(event.node) + ": " + text_of(event, "cause");
      round->second.ended = event.at;
    }
    enter(Phase::restarting, event, agent);
  } else if (event.type == &ev::exit_barrier_entered || event.type == &ev::agent_finished ||
             event.type == &ev::agent_signalled || event.type == &ev::failure_reported) {
    enter(Phase::leaving, event, agent);
  }
}

void RunRecord::joined(const sim::Event& event, Agent& agent) {
  const Round round{text_of(event, "run_id"), event.field("round").number()};
  RoundRecord& record = rounds_[round];
  record.run_id = round.first;
  record.round = round.second;
  if (record.members.empty() || agent.wanted < record.began) record.began = agent.wanted;
  record.members[event.field("rank").number()] = name_of(event.node);
}

void RunRecord::follow_processes(const sim::Event& event) {
  const Process process{event.node, event.pid};
  if (event.type == &wev::process_ended) {
    worker_gone(process, event, event.field("status").number() == 0);
    if (const auto agent = agents_.find(process); agent != agents_.end()) {
      close(event.node, agent->second, event.at);
      agents_.erase(agent);
    }
  } else if (event.type == &wev::node_crashed) {
    for (auto agent = agents_.begin(); agent != agents_.end();) {
      if (agent->first.first != event.node) {
        ++agent;
        continue;
      }
      close(event.node, agent->second, event.at);
      agent = agents_.erase(agent);
    }
    std::vector<Process> dead;
    for (const auto& [worker, round] : workers_) {
      if (worker.first == event.node) dead.push_back(worker);
    }
    for (const Process& worker : dead) worker_gone(worker, event, false);
  }
}

void RunRecord::worker_gone(const Process& worker, const sim::Event& event, bool well) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  const Round round = found->second;
  workers_.erase(found);
  if (!well && lost_.insert(round).second) lose(round, event);
}

void RunRecord::lose(const Round& round, const sim::Event& event) {
  for (auto& [process, agent] : agents_) {
    if (agent.phase != Phase::training || Round{agent.run_id, agent.round} != round) continue;
    close(process.first, agent, event.at);
    agent.phase = Phase::peer_lost;
    agent.since = event.at;
  }
}

void RunRecord::finish(sim::WorldTime end) {
  end_ = std::max(end_, end);
  for (const auto& [process, agent] : agents_) close(process.first, agent, end_);
  agents_.clear();
}

std::vector<Lane> RunRecord::lanes() const {
  std::vector<Lane> lanes;
  for (const auto& [node, segments] : segments_) {
    lanes.push_back({name_of(node), segments, deadlines_.of(node)});
    std::stable_sort(lanes.back().segments.begin(), lanes.back().segments.end(),
                     [](const Segment& a, const Segment& b) { return a.from < b.from; });
  }
  return lanes;
}

std::vector<RoundRecord> RunRecord::rounds() const {
  std::vector<RoundRecord> rounds;
  for (const auto& [key, record] : rounds_) rounds.push_back(record);
  std::stable_sort(rounds.begin(), rounds.end(),
                   [](const RoundRecord& a, const RoundRecord& b) { return a.began < b.began; });
  return rounds;
}

}  // namespace hooke::report
