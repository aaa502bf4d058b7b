// Facts about machines and agents outside of the core first, then one function per excuse.
#include "properties/invariants/core_excuses.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

/// Calls `each` for the parts of a text with commas or spaces between them.
template <class Each>
void for_each_part(std::string_view list, Each each) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(", ");
    if (end != 0) each(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

/// It lasts, and nothing will end it.
bool is_for_good(const Hindrance& fault) {
  const bool lasts = fault.effect->span != Span::instant && fault.from && !fault.to;
  return lasts && (fault.effect->hinders != 0 || fault.effect->kind == "process_hang");
}

/// The ends of a path as a fault's target names them; no second end means every machine.
struct Path {
  std::vector<std::string_view> from;
  std::vector<std::string_view> to;
};
Path path_of(std::string_view target) {
  Path path;
  bool second = false;
  target = target.substr(0, target.find(" pid "));  // of one process there
  for_each_part(target, [&](std::string_view part) {
    if (part == "->" || part == "<->") {
      second = true;
    } else {
      (second ? path.to : path.from).push_back(part);
    }
  });
  return path;
}

bool names(const std::vector<std::string_view>& ends, std::string_view name) {
  return ends.empty() || std::ranges::find(ends, name) != ends.end();
}

/// What a fault says of one process: "b pid 123".
std::string process_text(const JobView& view, sim::NodeId node, sim::Pid pid) {
  return view.name(node) + " pid " + std::to_string(pid.value);
}

/// A fault that never ends is about the machine of `agent`: itself or a path that ends there.
bool is_broken(const HealedCore& core, const JobView& view, const Agent& agent) {
  if (core.has(agent.node)) return false;
  const std::string name = view.name(agent.node);
  return std::ranges::any_of(view.ledger().all(), [&](const Hindrance& fault) {
    if (!is_for_good(fault)) return false;
    if (fault.effect->kind == kStoreGone) return false;
    const Path path = path_of(fault.target);
    return names(path.from, name) || (!path.to.empty() && names(path.to, name)) ||
           (fault.effect->kind.starts_with("net_") && path.to.empty());
  });
}

/// Such a fault keeps all that `agent` says from the store, or the agent stands still for good.
/// An agent that is unheard for the keep-alive threshold can be given up, so such an agent keeps no
/// seat.
bool is_unheard(const HealedCore& core, const JobView& view, const Agent& agent) {
  if (core.has(agent.node)) return false;
  const std::string name = view.name(agent.node);
  return std::ranges::any_of(view.ledger().all(), [&](const Hindrance& fault) {
    if (!is_for_good(fault)) return false;
    if (fault.effect->kind == "clock_freeze") return fault.target == name;
    if (fault.effect->kind == "process_pause" || fault.effect->kind == "process_hang")
      return fault.target == process_text(view, agent.node, agent.pid);
    if (fault.effect->kind != "net_partition" && fault.effect->kind != "net_clog") return false;
    // One way is enough: nothing is written before the last answer has come.
    const Path path = path_of(fault.target);
    const auto joins = [&](const auto& one, const auto& other) {
      return names(one, name) &&
             std::ranges::any_of(other, [&](auto end) { return core.has_store(end); });
    };
    if (path.to.empty()) return names(path.from, name) || joins(path.to, path.from);
    return joins(path.from, path.to) || joins(path.to, path.from);
  });
}

/// Members of the round that `agent` is in or waits beside, living, outside of the core and heard.
template <class Accept>
bool some_heard_outsider(const HealedCore& core, const JobView& view, JobId job, Accept accept) {
  return view.any_agent(job, [&](AgentId, const Agent& other) {
    return other.alive() && !core.has(other.node) && !is_unheard(core, view, other) &&
           accept(other);
  });
}

bool a_worker_stands_still(const JobView& view, AgentId id) {
  return view.any_worker(id, [&](const Process& worker) {
    const std::string text = process_text(view, view.agent(id).node, worker.pid);
    return !worker.ended && std::ranges::any_of(view.ledger().all(), [&](const Hindrance& fault) {
      return is_for_good(fault) && fault.effect->kind.starts_with("process_") &&
             fault.target == text;
    });
  });
}

bool a_worker_has_ended_well(const JobView& view, AgentId id) {
  return view.any_worker(id, [&](const Process& worker) {
    return worker.round == view.agent(id).round && worker.ended && worker.status == 0;
  });
}

/// It runs no workers: some of it have failed; or, before it started any, it has ended itself, or is
/// at its end and only serves its store.
bool has_lost_its_workers(const JobView& view, AgentId id) {
  if (view.any_worker(id, [](const Process& worker) { return !worker.ended; })) return false;
  const Agent& agent = view.agent(id);
  const bool had_any = view.any_worker(id, [](const Process&) { return true; });
  return agent.ended || (!had_any && agent.stage == Stage::stopping) ||
         view.any_worker(id, [](const Process& worker) { return worker.status != 0; });
}

/// It could start no workers: the disk on which their logs are made was full, or their program was
/// not there.
bool could_not_start(const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joined) return false;
  const std::string name = view.name(view.agent(agent.id).node);
  const std::vector<Hindrance>& all = view.ledger().all();
  return std::ranges::any_of(all, [&](const Hindrance& fault) {
    const bool keeps = fault.effect->kind == "disk_full" || fault.effect->kind == "spawn_fails";
    return keeps && fault.target == name && fault.from && *fault.from <= agent.stage_since &&
           (!fault.to || *fault.to >= agent.stage_since);
  });
}

}  // namespace

// ---- the core -----------------------------------------------------------------------------------

void HealedCore::see(const sim::Event& event, const JobView& view) {
  if (event.type == &model::events::worker_started) {
    const auto place = std::pair(event.node, event.field("local_rank").number());
    const sim::Pid pid{static_cast<std::int32_t>(event.field("worker_pid").number())};
    numbers_[{event.node, pid}] = started_[place]++;
    return;
  }
  if (event.type == &model::events::store_serving) {
    if (event.field("purpose").text() == "rendezvous")
      stores_[{event.node, event.pid}] = view.name(event.node);
    return;
  }
  if (event.type == &world::events::process_ended) {
    stores_.erase({event.node, event.pid});
    perhaps_never_began(event, view);
    return;
  }
  if (event.type != &world::events::core_healed) return;
  healed_ = true;
  since_ = event.at;
  const sim::Duration peers(event.field("peers").number());
  waits_for_ever_ = peers < sim::Duration::zero();
  work_ = sim::Duration(event.field("work").number()) + std::max(peers, sim::Duration::zero());
  for_each_part(event.field("nodes").text(), [&](std::string_view name) {
    if (const auto node = view.node_called(name)) nodes_.insert(*node);
  });
  for_each_part(event.field("endless").text(),
                [&](std::string_view program) { endless_.emplace(program); });
}

/// A worker that is killed at the moment of its start has run no line of its program, and the next
/// in its place is the first one that does.
void HealedCore::perhaps_never_began(const sim::Event& event, const JobView& view) {
  const Process* const worker = view.process(event.node, event.pid);
  if (worker == nullptr || worker->started != event.at) return;
  if (numbers_.erase({event.node, event.pid}) > 0) --started_[{event.node, worker->local_rank}];
}

bool HealedCore::has_store(std::string_view machine) const {
  return std::ranges::any_of(stores_, [&](const auto& store) { return store.second == machine; });
}

bool HealedCore::some_began_anew() const {
  return std::ranges::any_of(started_, [](const auto& place) { return place.second > 1; });
}

bool HealedCore::is_endless(sim::NodeId node, const std::string& name,
                            const Process& worker) const {
  const auto number = numbers_.find({node, worker.pid});
  if (endless_.empty() || number == numbers_.end()) return false;
  const std::string here = name + "/" + std::to_string(worker.local_rank);
  const bool first = number->second == 0;
  return endless_.contains("*") || endless_.contains(here + "/*") ||
         endless_.contains(name + "/*") ||
         (first && (endless_.contains(here) || endless_.contains(name)));
}

// ---- excuses ------------------------------------------------------------------------------------

namespace {

/// The living agents that can be heard, and are not about to end, are fewer than min_nodes; those
/// that a static job has on one machine share a rank and count once, and of those that a name has
/// divided between two stores the others at that of an agent that joins. No round can be complete
/// without min_nodes members, so the agent can end only by giving up, for which it has its join
/// time-out.
bool too_few_are_left(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  const Agent& self = view.agent(agent.id);
  std::set<sim::NodeId> nodes;
  std::int64_t left = 0;
  const Job& job = view.job(self.job);
  for (const AgentId id : job.agents) {
    const Agent& other = view.agent(id);
    const bool goes = other.stage == Stage::stopping || other.stage == Stage::finished;
    if (id != agent.id && (!other.alive() || goes || is_unheard(core, view, other))) continue;
    const bool meets = view.store_apart(id) == view.store_apart(agent.id);
    if (!meets && agent.stage == Stage::joining) continue;
    nodes.insert(other.node);
    ++left;
  }
  return (job.backend == "static" ? std::ssize(nodes) : left) < self.min_nodes;
}

/// The agent wants to get into a round of which an agent outside of the core is a member that is
/// alive, is heard, and is broken for good or does not run its workers (any more). A round begins
/// anew only when its members have left it, and no agent may give up one that is heard
/// (safety.eviction): the agent can end only by giving up itself, for which it has its join
/// time-out.
bool an_outsider_holds_a_seat(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joining) return false;
  return some_heard_outsider(core, view, view.agent(agent.id).job, [&](const Agent& other) {
    return other.member && (is_broken(core, view, other) || other.stage != Stage::running);
  });
}

/// All max_nodes seats of the job are held by living agents that are heard. There is no seat for
/// the agent, and a spare that waits for one may do so for ever.
bool all_seats_are_taken(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joining) return false;
  const Agent& self = view.agent(agent.id);
  const std::vector<AgentId>& agents = view.job(self.job).agents;
  const auto taken = std::ranges::count_if(agents, [&](AgentId id) {
    const Agent& other = view.agent(id);
    return id != agent.id && other.alive() && other.member && !is_unheard(core, view, other);
  });
  return taken >= self.max_nodes;
}

/// The agent has a living worker that never ends by itself: its program has no end, or a fault that
/// never ends keeps it from going on outside of the core.
bool runs_without_end(const HealedCore& core, const JobView& view, AgentId id) {
  const Agent& agent = view.agent(id);
  const std::string name = view.name(agent.node);
  const bool endless = view.any_worker(id, [&](const Process& worker) {
    return !worker.ended && core.is_endless(agent.node, name, worker);
  });
  return endless || (!core.has(agent.node) && a_worker_stands_still(view, id));
}

/// The agent's workers may wait for ever for peers of a static job, which has no word for that: for
/// one whose agent never got its rank, for one that runs no workers any more, and, once one of them
/// has been started anew in a store that keeps the keys of the earlier run, for each other.
bool peers_never_come(const HealedCore& core, const JobView& view, const Agent& agent) {
  const Job& job = view.job(agent.job);
  if (job.backend != "static" || !core.waits_for_ever()) return false;
  return core.some_began_anew() || std::ssize(job.static_ranks) < agent.world_size ||
         std::ranges::any_of(job.agents,
                             [&](AgentId id) { return has_lost_its_workers(view, id); });
}

/// The agent waits for all ranks of a static job, and one of them has an agent that is alive and
/// runs without end, or whose workers wait for ever for those that the agent's machine ran before:
/// no agent of such a job is told that others begin anew. It can end only by giving up, for which
/// it has its join time-out.
bool a_rank_never_comes(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  const Job& job = view.job(view.agent(agent.id).job);
  const bool waits = agent.stage == Stage::starting || agent.stage == Stage::restarting;
  if (job.backend != "static" || !waits) return false;
  return std::ranges::any_of(job.agents, [&](AgentId id) {
    const Agent& other = view.agent(id);
    return other.alive() && other.stage == Stage::running &&
           (runs_without_end(core, view, id) || peers_never_come(core, view, other));
  });
}

/// The agent runs a group in which a living worker never ends by itself: its program has no end; or
/// a fault that never ends keeps it from going on outside of the core; or it may wait for ever for
/// a peer whose program has ended well without having met it, or that never comes. An agent may end
/// only when its workers have ended, and a group whose workers live is healthy.
bool work_never_ends(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::running) return false;
  const Agent& self = view.agent(agent.id);
  if (peers_never_come(core, view, self)) return true;
  return view.any_agent(self.job, [&](AgentId id, const Agent& other) {
    if (other.round != agent.round) return false;
    return runs_without_end(core, view, id) ||
           (core.waits_for_ever() && a_worker_has_ended_well(view, id));
  });
}

/// The agent runs a group of which a member outside of the core is alive, is heard, and is broken
/// for good. Workers wait for each other in every collective, as long as peer_abort says, which may
/// be for ever; no agent may give up that member, nor end workers that have not failed.
bool a_member_is_broken(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::running) return false;
  return some_heard_outsider(core, view, view.agent(agent.id).job, [&](const Agent& other) {
    return other.member && other.round == agent.round && is_broken(core, view, other);
  });
}

/// The agent has nothing left to do but to serve the rendezvous store, and another agent lives. The
/// store must live as long as any agent may need it (safety.store_lifetime); if that one is of the
/// core, it is asked itself.
bool others_need_its_store(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  const Agent& self = view.agent(agent.id);
  const bool is_done = agent.stage == Stage::stopping || agent.stage == Stage::finished;
  if (!is_done && !could_not_start(view, agent)) return false;
  return core.serves(self) && view.others_live(agent.id);
}

}  // namespace

std::optional<Excuse> excuse_of(const HealedCore& core, const JobView& view,
                                const CoreAgent& agent) {
  if (others_need_its_store(core, view, agent)) return Excuse{"others need its store"};
  if (work_never_ends(core, view, agent)) return Excuse{"a worker's program never ends"};
  if (a_member_is_broken(core, view, agent)) return Excuse{"a member is broken for good"};
  if (all_seats_are_taken(core, view, agent)) return Excuse{"all seats are taken"};
  if (too_few_are_left(core, view, agent)) return Excuse{"too few are left", true};
  if (an_outsider_holds_a_seat(core, view, agent)) return Excuse{"a seat is held", true};
  if (a_rank_never_comes(core, view, agent)) return Excuse{"a rank never comes", true};
  return std::nullopt;
}

}  // namespace hooke::properties
