// Bookkeeping of five kinds of events.
#include "scenarios/outcome/roster.h"

#include <algorithm>

#include "model/observe/trace_events.h"
#include "scenarios/format/fixed_names.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {

void Roster::on_event(const sim::Event& event) {
  if (event.type == &world::events::process_started) {
    if (event.field("program").text() != kAgentProgram) return;
    agents_[event.node].push_back(event.pid);
    ++living_agents_;
  } else if (event.type == &world::events::process_ended) {
    process_ended(event);
  } else if (event.type == &model::events::worker_started) {
    worker_started(event);
  } else if (event.type == &model::events::rendezvous_joined) {
    joined(event);
  }
}

void Roster::joined(const sim::Event& event) {
  if (event.field("rank").number() == 0) rank0_ = event.node;
  const std::string_view run_id = event.field("run_id").text();
  const std::int64_t round = event.field("round").number();
  const auto known = newest_rounds_.find(run_id);
  if (known == newest_rounds_.end()) {
    newest_rounds_.emplace(run_id, round);
  } else {
    known->second = std::max(known->second, round);
  }
}

void Roster::worker_started(const sim::Event& event) {
  const sim::Pid pid{static_cast<std::int32_t>(event.field("worker_pid").number())};
  workers_[{event.node, event.field("local_rank").number()}].push_back(
      {pid, event.field("round").number()});
}

void Roster::process_ended(const sim::Event& event) {
  const auto agents = agents_.find(event.node);
  if (agents != agents_.end()) living_agents_ -= std::erase(agents->second, event.pid);
  for (auto entry = workers_.lower_bound({event.node, INT64_MIN});
       entry != workers_.end() && entry->first.first == event.node; ++entry) {
    const auto ended = [&](const Worker& worker) { return worker.pid == event.pid; };
    if (std::erase_if(entry->second, ended) == 0) continue;
    if (entry->second.empty()) workers_.erase(entry);
    return;
  }
}

std::vector<sim::Pid> Roster::agents(sim::NodeId node) const {
  const auto found = agents_.find(node);
  return found == agents_.end() ? std::vector<sim::Pid>() : found->second;
}

std::vector<sim::Pid> Roster::workers(sim::NodeId node,
                                      std::optional<std::int64_t> local_rank) const {
  std::vector<sim::Pid> pids;
  for (auto entry = workers_.lower_bound({node, local_rank.value_or(INT64_MIN)});
       entry != workers_.end() && entry->first.first == node; ++entry) {
    if (local_rank && entry->first.second != *local_rank) break;
    pids.push_back(entry->second.back().pid);
  }
  return pids;
}

std::optional<std::int64_t> Roster::round_of(sim::NodeId node, sim::Pid worker) const {
  for (auto entry = workers_.lower_bound({node, INT64_MIN});
       entry != workers_.end() && entry->first.first == node; ++entry) {
    for (const Worker& each : entry->second) {
      if (each.pid == worker) return each.round;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> Roster::newest_round(const std::string& run_id) const {
  const auto known = newest_rounds_.find(run_id);
  if (known == newest_rounds_.end()) return std::nullopt;
  return known->second;
}

}  // namespace hooke::scenario
