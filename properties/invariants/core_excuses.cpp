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
  return ends.empty() || std::find(ends.begin(), ends.end(), name) != ends.end();
}

/// What a fault says of one process: "b pid 123".
std::string process_text(const JobView& view, sim::NodeId node, sim::Pid pid) {
  return view.name(node) + " pid " + std::to_string(pid.value);
}

/// Members of the round that `agent` is in or waits beside, living, outside of the core and heard.
template <class Accept>
bool some_heard_outsider(const HealedCore& core, const JobView& view, JobId job, Accept accept) {
  return view.any_agent(job, [&](AgentId, const Agent& other) {
    return other.alive() && !core.has(other.node) && !is_unheard(core, view, other) &&
           accept(other);
  });
}

bool is_living_worker_of(const Process& process, AgentId owner) {
  return process.worker && !process.ended && process.owner == owner;
}

bool a_worker_stands_still(const JobView& view, const Agent& agent, AgentId id) {
  const std::vector<Process>& processes = view.processes(agent.node);
  return std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    if (!is_living_worker_of(process, id)) return false;
    const std::string text = process_text(view, agent.node, process.pid);
    return std::any_of(view.ledger().all().begin(), view.ledger().all().end(),
                       [&](const Hindrance& fault) {
                         return is_for_good(fault) && fault.effect->kind.starts_with("process_") &&
                                fault.target == text;
                       });
  });
}

bool a_worker_has_ended_well(const JobView& view, const Agent& agent, AgentId id) {
  const std::vector<Process>& processes = view.processes(agent.node);
  return std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    return process.worker && process.owner == id && process.round == agent.round && process.ended &&
           process.status == 0;
  });
}

/// Workers of it have failed, and it runs none.
bool has_lost_its_workers(const JobView& view, AgentId id, const Agent& agent) {
  const std::vector<Process>& processes = view.processes(agent.node);
  const bool lives = std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    return is_living_worker_of(process, id);
  });
  return !lives && std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    return process.worker && process.owner == id && process.ended && process.status != 0;
  });
}

/// It could start no workers: the disk on which their logs are made was full.
bool could_not_start(const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joined) return false;
  const std::string name = view.name(view.agent(agent.id).node);
  const std::vector<Hindrance>& all = view.ledger().all();
  return std::any_of(all.begin(), all.end(), [&](const Hindrance& fault) {
    return fault.effect->kind == "disk_full" && fault.target == name && fault.from &&
           *fault.from <= agent.stage_since && (!fault.to || *fault.to >= agent.stage_since);
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
  return std::any_of(stores_.begin(), stores_.end(),
                     [&](const auto& store) { return store.second == machine; });
}

bool HealedCore::some_began_anew() const {
  return std::any_of(started_.begin(), started_.end(),
                     [](const auto& place) { return place.second > 1; });
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

// ---- facts --------------------------------------------------------------------------------------

bool is_broken(const HealedCore& core, const JobView& view, const Agent& agent) {
  if (core.has(agent.node)) return false;
  const std::string name = view.name(agent.node);
  return std::any_of(
      view.ledger().all().begin(), view.ledger().all().end(), [&](const Hindrance& fault) {
        if (!is_for_good(fault)) return false;
        if (fault.effect->kind == kStoreGone) return false;
        const Path path = path_of(fault.target);
        return names(path.from, name) || (!path.to.empty() && names(path.to, name)) ||
               (fault.effect->kind.starts_with("net_") && path.to.empty());
      });
}

bool is_unheard(const HealedCore& core, const JobView& view, const Agent& agent) {
  if (core.has(agent.node)) return false;
  const std::string name = view.name(agent.node);
  return std::any_of(
      view.ledger().all().begin(), view.ledger().all().end(), [&](const Hindrance& fault) {
        if (!is_for_good(fault)) return false;
        if (fault.effect->kind == "clock_freeze") return fault.target == name;
        if (fault.effect->kind == "process_pause" || fault.effect->kind == "process_hang")
          return fault.target == process_text(view, agent.node, agent.pid);
        if (fault.effect->kind != "net_partition" && fault.effect->kind != "net_clog") return false;
        // One way is enough: nothing is written before the last answer has come.
        const Path path = path_of(fault.target);
        const auto joins = [&](const auto& one, const auto& other) {
          return names(one, name) && std::any_of(other.begin(), other.end(),
                                                 [&](auto end) { return core.has_store(end); });
        };
        if (path.to.empty()) return names(path.from, name) || joins(path.to, path.from);
        return joins(path.from, path.to) || joins(path.to, path.from);
      });
}

// ---- excuses ------------------------------------------------------------------------------------

bool too_few_are_left(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  const Agent& self = view.agent(agent.id);
  std::set<sim::NodeId> nodes;
  std::int64_t left = 0;
  const Job& job = view.job(self.job);
  for (const AgentId id : job.agents) {
    const Agent& other = view.agent(id);
    const bool goes = other.stage == Stage::stopping || other.stage == Stage::finished;
    if (id != agent.id && (!other.alive() || goes || is_unheard(core, view, other))) continue;
    nodes.insert(other.node);
    ++left;
  }
  return (job.backend == "static" ? std::ssize(nodes) : left) < self.min_nodes;
}

bool an_outsider_holds_a_seat(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joining) return false;
  return some_heard_outsider(core, view, view.agent(agent.id).job, [&](const Agent& other) {
    return other.member && (is_broken(core, view, other) || other.stage != Stage::running);
  });
}

bool all_seats_are_taken(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::joining) return false;
  const Agent& self = view.agent(agent.id);
  const std::vector<AgentId>& agents = view.job(self.job).agents;
  const auto taken = std::count_if(agents.begin(), agents.end(), [&](AgentId id) {
    const Agent& other = view.agent(id);
    return id != agent.id && other.alive() && other.member && !is_unheard(core, view, other);
  });
  return taken >= self.max_nodes;
}

bool work_never_ends(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::running) return false;
  const Agent& self = view.agent(agent.id);
  const auto have_come = std::ssize(view.job(self.job).static_ranks);
  const auto is_alone = [&] {
    return view.any_agent(self.job, [&](AgentId id, const Agent& other) {
      return has_lost_its_workers(view, id, other);
    });
  };
  if (view.job(self.job).backend == "static" && core.waits_for_ever() &&
      (core.some_began_anew() || have_come < self.world_size || is_alone())) {
    return true;
  }
  return view.any_agent(self.job, [&](AgentId id, const Agent& other) {
    if (other.round != agent.round) return false;
    const std::string name = view.name(other.node);
    const std::vector<Process>& processes = view.processes(other.node);
    const bool endless =
        std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
          return is_living_worker_of(process, id) && core.is_endless(other.node, name, process);
        });
    return endless || (!core.has(other.node) && a_worker_stands_still(view, other, id)) ||
           (core.waits_for_ever() && a_worker_has_ended_well(view, other, id));
  });
}

bool a_member_is_broken(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  if (agent.stage != Stage::running) return false;
  return some_heard_outsider(core, view, view.agent(agent.id).job, [&](const Agent& other) {
    return other.member && other.round == agent.round && is_broken(core, view, other);
  });
}

bool others_need_its_store(const HealedCore& core, const JobView& view, const CoreAgent& agent) {
  const Agent& self = view.agent(agent.id);
  const bool is_done = agent.stage == Stage::stopping || agent.stage == Stage::finished;
  if (!is_done && !could_not_start(view, agent)) return false;
  return core.serves(self) && view.others_live(agent.id);
}

std::optional<Excuse> excuse_of(const HealedCore& core, const JobView& view,
                                const CoreAgent& agent) {
  if (others_need_its_store(core, view, agent)) return Excuse{"others need its store"};
  if (work_never_ends(core, view, agent)) return Excuse{"a worker's program never ends"};
  if (a_member_is_broken(core, view, agent)) return Excuse{"a member is broken for good"};
  if (all_seats_are_taken(core, view, agent)) return Excuse{"all seats are taken"};
  if (too_few_are_left(core, view, agent)) return Excuse{"too few are left", true};
  if (an_outsider_holds_a_seat(core, view, agent)) return Excuse{"a seat is held", true};
  return std::nullopt;
}

}  // namespace hooke::properties
