// Agents on their way through rounds: joining, taking a seat, starting workers,
// coming to the exit barrier.
#include <utility>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "properties/invariants/job_view.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;

/// "addr_pid_localid" taken apart; an empty address when it is not of that form.
struct Descriptor {
  std::string_view address;
  sim::Pid pid{};
};
Descriptor parse_descriptor(std::string_view text) {
  const std::size_t local_id = text.rfind('_');
  if (local_id == std::string_view::npos || local_id == 0) return {};
  const std::size_t pid = text.rfind('_', local_id - 1);
  if (pid == std::string_view::npos) return {};
  std::int32_t number = 0;
  for (const char digit : text.substr(pid + 1, local_id - pid - 1)) {
    if (digit < '0' || digit > '9' || number > 100'000'000) return {};
    number = number * 10 + (digit - '0');
  }
  return {without_domain(text.substr(0, pid)), sim::Pid{number}};
}

}  // namespace

void JobView::call(sim::NodeId node, std::string_view name) {
  Machine& here = machine(node);
  if (name.empty() || here.name == name) return;
  here.name = name;
  nodes_by_name_[here.name] = node;
}

void JobView::give(sim::NodeId node, std::shared_ptr<const Given> given) {
  machine(node).given = std::move(given);
}

void JobView::on_rendezvous_event(const sim::Event& event, Agent& agent, AgentId id) {
  if (event.type == &ev::rendezvous_joining) {
    const std::string_view descriptor = event.field("descriptor").text();
    call(agent.node, parse_descriptor(descriptor).address);
    described_.insert_or_assign(std::string(descriptor), id);
    perhaps_led_astray(agent, id, event.at);
    enter(agent, Stage::joining, event.at);
  } else if (event.type == &ev::rendezvous_joined || event.type == &ev::ranks_assigned) {
    on_joined(event, agent, id);
  } else if (event.type == &ev::rendezvous_added) {
    agent.spare = event.field("list").text() == "redundancy_list";
  } else if (event.type == &ev::rendezvous_completed) {
    Job& job = jobs_[agent.job.value];
    const std::int64_t number = event.field("round").number();
    Round& round = job.rounds[number];
    if (!round.completed) round.completed = event.at;
    round.participants = event.field("participants").number();
    job.highest_completed = std::max(job.highest_completed, number);
    job.over.reset();
  } else if (event.type == &ev::rendezvous_left) {
    seat(agent, false);
    // An agent that wants another round says so first: this one could not start its workers, or not
    // stop them, or has met an error of its own.
    const bool for_good = agent.stage == Stage::joined || agent.stage == Stage::restarting ||
                          (agent.stage == Stage::joining && agent.errors > 0);
    if (for_good) enter(agent, Stage::stopping, event.at);
  } else if (event.type == &ev::coverage_point) {
    // A static rendezvous tells of no failure of its own, nor does an error of another's making.
    const bool lingers = event.field("name").text() == "store_lingers";
    const bool tells_nothing = agent.errors > 0 || jobs_[agent.job.value].backend == "static";
    if (lingers && tells_nothing) enter(agent, Stage::stopping, event.at);
  } else if (event.type == &ev::rendezvous_failed) {
    if (agent.stage == Stage::joining) enter(agent, Stage::stopping, event.at);
  } else if (event.type == &ev::rendezvous_evicted) {
    const std::string_view descriptor = event.field("descriptor").text();
    AgentId gone = agent_described(descriptor);
    if (gone == kNoAgent) gone = member_at(agent.job, event.field("round").number(), descriptor);
    if (gone != kNoAgent) seat(agents_[gone.value], false);
  }
}

AgentId JobView::member_at(JobId job, std::int64_t number, std::string_view keep_alive) const {
  const Round* const round = this->round(job, number);
  if (round == nullptr) return kNoAgent;
  const auto holder = std::ranges::find_if(round->members, [&](AgentId id) {
    const Agent& member = agents_[id.value];
    return member.round == number && keep_alive.ends_with("/rank_" + std::to_string(member.rank));
  });
  return holder == round->members.end() ? kNoAgent : *holder;
}

/// ranks.assigned repeats what rendezvous.joined said, and is all that the static backend says.
void JobView::on_joined(const sim::Event& event, Agent& agent, AgentId id) {
  const bool dynamic = event.type == &ev::rendezvous_joined;
  if (!dynamic && agent.round == event.field("round").number() && agent.stage == Stage::joined)
    return;
  agent.round = event.field("round").number();
  agent.rank = event.field(dynamic ? "rank" : "group_rank").number();
  agent.world_size = event.field(dynamic ? "world_size" : "group_world_size").number();
  if (agent.round < 0) {
    const auto holder = jobs_[agent.job.value].static_ranks.try_emplace(agent.rank, id).first;
    if (holder->second != id && agents_[holder->second.value].alive()) {
      ledger_.rank_shared(event.at);
    }
    holder->second = id;
  }
  agent.all_came = false;
  enter(agent, Stage::joined, event.at);
  Round& round = jobs_[agent.job.value].rounds[agent.round];
  if (!round.completed) round.completed = event.at;  // an agent that completed it may be held up
  // Another group has the round: an agent that waits in its barrier, or has waited there, is none
  // of it.
  if (!round.earlier.empty()) round.in_barrier.clear();
  for (const AgentId earlier : std::exchange(round.earlier, {})) {
    round.replaced.insert(earlier);
    Agent& other = agents_[earlier.value];
    if (other.stage == Stage::barrier && other.round == agent.round) seat(other, false);
  }
  round.replaced.erase(id);
  round.members.push_back(id);
  if (agent.rank == 0) round.first = id;
  seat(agent, true);
}

void JobView::on_worker_started(const sim::Event& event, Agent& agent, AgentId id) {
  Process& process = process_slot(agent.node, pid(event, "worker_pid"), event);
  process.worker = true;
  process.owner = id;
  process.round = event.field("round").number();
  process.rank = event.field("rank").number();
  process.local_rank = event.field("local_rank").number();
  process.world_size = event.field("world_size").number();
}

void JobView::on_worker_ended(const sim::Event& event) {
  Process* const process = find_process(event.node, pid(event, "worker_pid"));
  if (process == nullptr || process->ended) return;
  process->ended = event.at;
  process->status = event.field("status").number();
}

void JobView::on_barrier_entered(const sim::Event& event, Agent& agent) {
  enter(agent, Stage::barrier, event.at);
  Job& job = jobs_[agent.job.value];
  const std::int64_t number = event.field("round").number();
  Round& round = job.rounds[number];
  const bool is_new = round.in_barrier.insert(agent.rank).second;
  if (is_new && std::ssize(round.in_barrier) == event.field("world_size").number()) {
    for (const AgentId id : round.members) {
      Agent& other = agents_[id.value];
      const bool waits = other.round == number && other.stage == Stage::barrier;
      if (waits && !round.replaced.contains(id)) other.all_came = true;
    }
    decide(job, event.at, number, "all agents of the round had come to the exit barrier");
  }
}

/// A process that runs its job again is one agent after the other, each with a descriptor of its own.
AgentId JobView::agent_described(std::string_view descriptor) const {
  if (const auto known = described_.find(descriptor); known != described_.end())
    return known->second;
  const Descriptor described = parse_descriptor(descriptor);
  const auto node = node_called(described.address);
  return node ? agent_at(*node, described.pid) : kNoAgent;
}

}  // namespace hooke::properties
