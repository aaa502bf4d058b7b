// Questions to the view, and what they need of names and spans.
#include "properties/invariants/job_view.h"

namespace hooke::properties {

namespace {
/// The simulated world's domain: "a.sim" and "a" are one machine.
constexpr std::string_view kDomain = ".sim";

}  // namespace

std::string_view without_domain(std::string_view address) {
  if (address.ends_with(kDomain)) address.remove_suffix(kDomain.size());
  return address;
}

std::string_view host_of(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

/// Where it is not known which grace holds before a restart, it is PyTorch's or that of the end.
sim::Duration Timeouts::shortest_grace() const {
  return std::min(shutdown, stop == sim::Duration::zero() ? kStopGrace : stop);
}

sim::Duration Timeouts::longest_grace() const {
  return std::max(shutdown, stop == sim::Duration::zero() ? kStopGrace : stop);
}

void Timeouts::widen(const Timeouts& other) {
  for (const auto span :
       {&Timeouts::join, &Timeouts::last_call, &Timeouts::close, &Timeouts::heartbeat,
        &Timeouts::keep_alive, &Timeouts::read_timeout, &Timeouts::monitor, &Timeouts::exit_barrier,
        &Timeouts::shutdown, &Timeouts::stop, &Timeouts::parting, &Timeouts::pause})
    this->*span = std::max(this->*span, other.*span);
}

sim::Duration Pauses::after(std::int64_t restarts) const {
  sim::Duration pause = std::min(first, longest);
  for (std::int64_t i = 0; i < restarts && factor > 1 && pause < longest; ++i) {
    if (pause == sim::Duration::zero()) break;
    pause = pause > longest / factor ? longest : pause * factor;
  }
  return pause;
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

const Given* JobView::given(sim::NodeId node) const {
  return node.value < machines_.size() ? machines_[node.value].given.get() : nullptr;
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

bool JobView::others_live(AgentId but) const {
  for (AgentId id{0}; id.value < agents_.size(); ++id.value) {
    if (id != but && agent(id).alive()) return true;
  }
  return false;
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

Claimant JobView::claimant(AgentId id) const {
  if (id == kNoAgent) return {sim::kNoNode, {}, {}};
  const Agent& agent = agents_[id.value];
  return {agent.node, agent.pid, agent.timeouts.read_timeout};
}

}  // namespace hooke::properties
