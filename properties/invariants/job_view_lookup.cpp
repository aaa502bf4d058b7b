// Questions to the view, and what they need of names and spans.
#include <array>

#include "properties/invariants/job_view.h"

namespace hooke::properties {

namespace {
/// The simulated world's domain: "a.sim" and "a" are one machine.
constexpr std::string_view kDomain = ".sim";

/// Calls `each` for the machines of a list "a,b" or "a b".
template <class Each>
void for_each_machine(std::string_view list, Each each) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(", ");
    if (end != 0) each(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

}  // namespace

std::string_view without_domain(std::string_view address) {
  if (address.ends_with(kDomain)) address.remove_suffix(kDomain.size());
  return address;
}

std::string_view host_of(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

void Timeouts::widen(const Timeouts& other) {
  const auto longer = [](sim::Duration& mine, sim::Duration theirs) {
    mine = std::max(mine, theirs);
  };
  longer(join, other.join);
  longer(last_call, other.last_call);
  longer(close, other.close);
  longer(heartbeat, other.heartbeat);
  longer(keep_alive, other.keep_alive);
  longer(read_timeout, other.read_timeout);
  longer(monitor, other.monitor);
  longer(exit_barrier, other.exit_barrier);
  longer(shutdown, other.shutdown);
}

JobId JobView::find_job(std::string_view run_id) const {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].run_id == run_id) return JobId{static_cast<std::uint32_t>(i)};
  }
  return kNoJob;
}

const Round* JobView::round(JobId job, std::int64_t number) const {
  if (job == kNoJob) return nullptr;
  const auto& rounds = jobs_[job.value].rounds;
  const auto found = rounds.find(number);
  return found == rounds.end() ? nullptr : &found->second;
}

const Process* JobView::process(sim::NodeId node, sim::Pid pid) const {
  for (const Process& process : processes(node)) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}

const std::vector<Process>& JobView::processes(sim::NodeId node) const {
  static const std::vector<Process> kNone;
  return node.value < machines_.size() ? machines_[node.value].processes : kNone;
}

AgentId JobView::agent_at(sim::NodeId node, sim::Pid pid) const {
  const Process* const found = process(node, pid);
  return found == nullptr ? kNoAgent : found->agent;
}

std::string JobView::name(sim::NodeId node) const {
  if (node.value < machines_.size() && !machines_[node.value].name.empty())
    return machines_[node.value].name;
  return std::to_string(node.value);
}

std::string JobView::describe(AgentId agent) const {
  const Agent& who = agents_[agent.value];
  return "the agent on node " + name(who.node) + " (pid " + std::to_string(who.pid.value) + ")";
}

std::optional<sim::NodeId> JobView::node_called(std::string_view address) const {
  const auto found = nodes_by_name_.find(without_domain(address));
  if (found == nodes_by_name_.end()) return std::nullopt;
  return found->second;
}

/// A machine on which no agent runs is there for something else.
bool JobView::may_serve_a_store(std::string_view machine) const {
  const auto node = node_called(machine);
  return !node || std::any_of(stores_.begin(), stores_.end(),
                              [&](const auto& store) { return store.first == *node; });
}

bool JobView::comes_between(const Fault& fault, AgentId agent) const {
  constexpr std::array<std::string_view, 3> kOfStores{"service_", "etcd_", kStoreGone};
  const auto begins = [&](std::string_view kind) { return fault.kind.starts_with(kind); };
  if (!fault.disturbance) return false;
  if (std::any_of(kOfStores.begin(), kOfStores.end(), begins)) return true;
  if (!begins("net_") && !begins("dns_")) return false;
  bool agents_end = false, stores_end = false;
  const std::string_view target = fault.target;
  const bool is_path = target.find('>') != std::string_view::npos;
  for_each_machine(target, [&](std::string_view machine) {
    if (machine == "->" || machine == "<->") return;
    if (node_called(machine) == agents_[agent.value].node) {
      agents_end = true;
    } else if (may_serve_a_store(machine)) {
      stores_end = true;
    }
  });
  return is_path ? agents_end && stores_end : agents_end || stores_end;
}

bool JobView::store_has_forgotten(sim::WorldTime since) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    if (fault.kind == "etcd_expiry") return fault.begin >= since;
    return fault.kind == kStoreGone && fault.end.value_or(since) >= since;
  });
}

}  // namespace hooke::properties
