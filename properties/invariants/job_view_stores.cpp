// The stores that serve, and what becomes of jobs when one comes or goes.
#include <algorithm>

#include "properties/invariants/job_view.h"

namespace hooke::properties {

void JobView::on_store_serving(const sim::Event& event) {
  const auto [store, is_new] = stores_.try_emplace({event.node, event.pid});
  if (!is_new) services_[store->second].current = false;
  store->second = services_.size();
  Service service{{event.node, event.pid}, agent_of(event)};
  if (service.agent != kNoAgent) {
    service.job = agents_[service.agent.value].job;
    service.is_first = std::ranges::none_of(
        services_, [&](const Service& other) { return other.job == service.job; });
  }
  service.port = event.field("port").number();
  service.since = event.at;
  service.began = event.id;
  service.led_astray = service.agent != kNoAgent && store_beside(service) != nullptr &&
                       ledger_.find(claimant(service.agent), kNames, event.at, event.at) != nullptr;
  if (service.led_astray) ledger_.store_of_its_own(event.node, event.pid, event.at);
  services_.push_back(service);
  ledger_.served_by(event.node, event.pid);
  ledger_.store_back(event.at);
  begin_anew(service.agent);
  stop_leases(event.at);
}

/// The faults that stop the clock of a store do so for a legacy etcd, which may come later, or be told
/// only later by its agents.
void JobView::stop_leases(sim::WorldTime at) {
  const bool legacy =
      std::ranges::any_of(jobs_, [](const Job& job) { return job.backend == "etcd"; });
  if (!legacy) return;
  std::vector<std::int64_t> stop;
  for (const Hindrance& each : ledger_.all()) {
    const bool is_on = each.effect->kind == "clock_freeze" && (!each.to || *each.to > at);
    const bool of_store = std::ranges::any_of(services_, [&](const Service& service) {
      return service.current && std::ranges::count(each.side, service.process.node) > 0;
    });
    if (is_on && of_store) stop.push_back(each.fault.value());
    if (each.effect->kind == kLeasesStopped) std::erase(stop, each.fault.value());
  }
  for (const std::int64_t fault : stop) ledger_.leases_stopped(fault);
}

/// Another one that serves, of its job or at the port where jobs meet that share a store; null:
/// none.
const Service* JobView::store_beside(const Service& service) const {
  const auto found = std::ranges::find_if(services_, [&](const Service& other) {
    const bool is_met = other.job == service.job || other.port == service.port;
    return other.current && is_met && other.process != service.process;
  });
  return found == services_.end() ? nullptr : &*found;
}

/// Its process ends or stops serving.
void JobView::on_store_gone(const sim::Event& event, bool killed) {
  const auto store = stores_.find({event.node, event.pid});
  if (store == stores_.end()) return;
  Service& service = services_[store->second];
  service.to = event.at;
  service.ended = event.id;
  service.current = false;
  stores_.erase(store);
  ledger_.one_store_again(event.node, event.pid, event.at);
  const Service* const left = store_beside(service);
  if (left != nullptr && store_beside(*left) == nullptr)
    ledger_.one_store_again(left->process.node, left->process.pid, event.at);
  const AgentId server = agent_of(event);
  const bool told = server != kNoAgent && agents_[server.value].signalled;
  if (killed || told) ledger_.store_taken(event.at);
  if (store_is_gone()) ledger_.store_gone(event.at);
}

/// What a new store knows, for an agent's own job or for all: the round of those that live, and
/// in its barrier those that wait there and come again.
void JobView::begin_anew(AgentId server) {
  for (Job& job : jobs_) {
    if (server != kNoAgent && &job != &jobs_[agents_[server.value].job.value]) continue;
    job.highest_completed = kNoRound;
    for (const AgentId id : job.agents) {
      const Agent& agent = agents_[id.value];
      if (agent.alive()) job.highest_completed = std::max(job.highest_completed, agent.round);
    }
    for (auto& [number, round] : job.rounds) {
      round.in_barrier.clear();
      for (const AgentId id : forget(round, number)) {
        if (agents_[id.value].stage == Stage::barrier)
          round.in_barrier.insert(agents_[id.value].rank);
      }
    }
  }
}

/// Those that live are of a round that their store does not know any more: another group may take its
/// number.
const std::set<AgentId>& JobView::forget(Round& round, std::int64_t number) {
  round.earlier.clear();
  for (const AgentId id : round.members) {
    const Agent& member = agents_[id.value];
    if (member.alive() && member.round == number) round.earlier.insert(id);
  }
  return round.earlier;
}

/// A legacy etcd lets the keys of all jobs expire.
void JobView::forget_leases() {
  for (Job& job : jobs_) {
    for (auto& [number, round] : job.rounds) static_cast<void>(forget(round, number));
  }
}

const Service* JobView::latest_service(JobId job) const {
  const auto found = std::find_if(services_.rbegin(), services_.rend(),
                                  [&](const Service& service) { return service.job == job; });
  return found == services_.rend() ? nullptr : &*found;
}

bool JobView::serves_apart(AgentId id) const {
  return std::ranges::any_of(services_, [&](const Service& each) {
    return each.current && each.agent == id && each.led_astray;
  });
}

/// It has connected to its store since it started, and stays with that connection. Where jobs meet at
/// one port, the store may be another job's.
void JobView::perhaps_led_astray(Agent& agent, AgentId id, sim::WorldTime at) {
  if (agent.stage != Stage::starting || !ledger_.a_name_led_astray(agent.started, at)) return;
  const Service* const own = latest_service(agent.job);
  const auto found = std::ranges::find_if(services_, [&](const Service& each) {
    const bool is_met = each.job == agent.job || (own != nullptr && own->port == each.port);
    return each.current && each.led_astray && is_met && each.agent != id;
  });
  const bool serves = std::ranges::any_of(
      services_, [&](const Service& each) { return each.current && each.agent == id; });
  if (serves || found == services_.end()) return;
  agent.led_to = static_cast<std::size_t>(found - services_.begin());
}

const Service* JobView::store_apart(AgentId id) const {
  const auto& led_to = agents_[id.value].led_to;
  const auto found = std::ranges::find_if(services_, [&](const Service& each) {
    const bool is_its = each.agent == id || (led_to && &each == &services_[*led_to]);
    return each.current && each.led_astray && is_its && store_beside(each) != nullptr;
  });
  return found == services_.end() ? nullptr : &*found;
}

const Service* JobView::service_ended_at(const sim::Event& event) const {
  const auto found =
      std::find_if(services_.rbegin(), services_.rend(),
                   [&](const Service& service) { return service.ended == event.id; });
  return found == services_.rend() ? nullptr : &*found;
}

}  // namespace hooke::properties
