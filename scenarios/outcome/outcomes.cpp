// What an agent says of itself counts unless it was killed after saying it. A machine's crash comes
// before the ends of the processes that go down with it.
#include "scenarios/outcome/outcomes.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/observe/trace_events.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/outcome/trigger.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {

namespace ev = model::events;
namespace wev = world::events;

void Outcomes::count(std::size_t pattern, const sim::Event& event, const std::string& node) {
  const Trigger& trigger = *counted_[pattern];
  if (event.type->name != *trigger.event) return;
  if (fires(trigger, event, node)) {
    ++met_[pattern];
    return;
  }
  if (pattern < nearest_.size() && met_[pattern] == 0)
    miss(nearest_[pattern], trigger, event, node);
}

void Outcomes::add_up(std::size_t sum, const sim::Event& event, const std::string& node) {
  const ExpectedSum& expected = expected_sums_[sum];
  if (event.type->name != *expected.events.event) return;
  SumSeen& seen = sums_[sum];
  if (!fires(expected.events, event, node)) {
    if (seen.events == 0) miss(nearest_of_sums_[sum], expected.events, event, node);
    return;
  }
  ++seen.events;
  const sim::FieldValue& field = event.field(expected.field);
  seen.is_text = seen.is_text || field.is_text();
  if (seen.is_text) return;
  const std::int64_t value = field.number();
  if (__builtin_add_overflow(seen.total, value, &seen.total))
    seen.total = value > 0 ? INT64_MAX : INT64_MIN;
  const auto size = [](std::int64_t number) {
    return number < 0 ? ~static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  };
  if (!seen.largest.empty() && size(value) <= size(seen.largest_value)) return;
  seen.largest_value = value;
  seen.largest = fmt::format("at {:.3f} s{}",
                             std::chrono::duration<double>(event.at.time_since_epoch()).count(),
                             node.empty() ? "" : " on " + node);
}

std::vector<SumSeen> Outcomes::sums() const {
  std::vector<SumSeen> out = sums_;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].nearest = nearest_of_sums_[i].text;
  return out;
}

void Outcomes::miss(NearMiss& nearest, const Trigger& trigger, const sim::Event& event,
                    const std::string& node) {
  const std::vector<std::string> unlike = differences(trigger, event, node);
  if (nearest.differences > 0 && unlike.size() >= nearest.differences) return;
  nearest = {unlike.size(),
             fmt::format("at {:.3f} s, but {}",
                         std::chrono::duration<double>(event.at.time_since_epoch()).count(),
                         fmt::join(unlike, ", "))};
}

std::vector<std::string> Outcomes::nearest() const {
  std::vector<std::string> out;
  for (const NearMiss& each : nearest_) out.push_back(each.text);
  return out;
}

void Outcomes::on_event(const sim::Event& event) {
  for (std::size_t i = 0; i < counted_.size(); ++i) {
    const bool somewhere = event.node.value < node_names_.size();
    count(i, event, somewhere ? node_names_[event.node.value] : "");
  }
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const bool somewhere = event.node.value < node_names_.size();
    add_up(i, event, somewhere ? node_names_[event.node.value] : "");
  }
  if (event.type == &wev::process_started) {
    if (event.field("program").text() != kAgentProgram) return;
    living_[{event.node, event.pid}] = agents_.size();
    agents_.push_back({node_names_[event.node.value], "running", std::nullopt, "", {}, ""});
  } else if (event.type == &ev::agent_started) {
    // A job that is run once more under another run id stays the one it was.
    const auto found = living_.find({event.node, event.pid});
    if (found == living_.end() || !agents_[found->second].run_id.empty()) return;
    agents_[found->second].run_id = event.field("run_id").text();
  } else if (event.type == &ev::agent_finished) {
    agent_finished(event);
  } else if (event.type == &wev::process_ended) {
    process_ended(event);
  } else if (event.type == &wev::node_crashed) {
    down_.emplace(event.field("name").text());
  } else if (event.type == &wev::node_restarted) {
    down_.erase(std::string(event.field("name").text()));
  } else if (event.type == &ev::coverage_point) {
    ++coverage_[std::string(event.field("name").text())];
  } else if (event.type == &ev::rendezvous_completed) {
    const std::string run_id(event.field("run_id").text());
    if (completed_.emplace(run_id, event.field("round").number()).second) ++rounds_;
  } else if (event.type == &ev::store_serving) {
    if (event.field("purpose").text() == "rendezvous") completed_.clear();
  } else if (event.type == &wev::fault_injected) {
    last_fault_ = std::max(last_fault_, event.at);
  } else if (event.type == &wev::fault_ended) {
    last_fault_ = std::max(last_fault_, event.at + Duration(event.field("lingers").number()));
  }
}

std::vector<JobResult> jobs_of(const std::vector<AgentResult>& agents) {
  std::vector<JobResult> jobs;
  std::map<std::string, std::map<std::string, std::string>> latest;  // job, node: outcome
  for (const AgentResult& agent : agents) {
    const std::string run_id = agent.run_id.empty() ? std::string(kRunId) : agent.run_id;
    auto job = std::find_if(jobs.begin(), jobs.end(),
                            [&](const JobResult& known) { return known.run_id == run_id; });
    if (job == jobs.end()) job = jobs.insert(jobs.end(), {run_id, "", {}});
    ++job->agents[agent.outcome];
    latest[run_id][agent.node] = agent.outcome;
  }
  for (JobResult& job : jobs) {
    std::set<std::string> outcomes;
    for (const auto& [node, outcome] : latest[job.run_id]) outcomes.insert(outcome);
    job.outcome = outcomes.size() == 1 ? *outcomes.begin() : "ended";
    for (const char* const deciding : {"succeeded", "failed", "running"}) {
      if (outcomes.contains(deciding)) job.outcome = deciding;
    }
  }
  return jobs;
}

void Outcomes::agent_finished(const sim::Event& event) {
  const auto found = living_.find({event.node, event.pid});
  if (found == living_.end()) return;
  AgentResult& agent = agents_[found->second];
  agent.outcome = event.field("outcome").text();
  agent.detail = event.field("detail").text();
}

void Outcomes::process_ended(const sim::Event& event) {
  const auto found = living_.find({event.node, event.pid});
  if (found == living_.end()) return;
  AgentResult& agent = agents_[found->second];
  living_.erase(found);
  const int status = static_cast<int>(event.field("status").number());
  agent.ended = event.at;
  if (status < 0 && down_.contains(agent.node)) {
    agent.outcome = "crashed";
    return;
  }
  agent.exit_code = status;
  if (status < 0) {
    agent.outcome = "killed";
  } else if (agent.outcome == "running") {  // ended from outside with an exit code
    agent.outcome = "error";
  }
}

}  // namespace hooke::scenario
