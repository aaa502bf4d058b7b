// Stores as agents and workers need them: there as long as somebody needs them, and where they are
// said to be.
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Judged for the rendezvous store. It is needed by an agent that is joining, a member, or
/// restarting, has not been told to end, and whose job is not decided yet; an agent in the exit
/// barrier needs it until all have come there. The job of a store is that of the agent that serves
/// it; any other store serves all jobs that have none of their own. No agent keeps a store that is
/// killed, alone or with its machine, or told to go: only one outside of the job outlives that.
class StoreLifetime final : public Judge {
 public:
  StoreLifetime()
      : Judge("safety.store_lifetime", "A store outlives every client that still needs it.",
              {&ev::store_serving, &ev::store_stopped, &ev::rendezvous_exchanged,
               &wev::process_ended},
              kAsking) {}

 private:
  struct Server {
    AgentId agent = kNoAgent;
    std::int64_t port = 0;
    sim::WorldTime since{};
    bool is_first = true;  ///< no agent of the job had served a store before
  };

  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) {
      heard_[view().agent_of(event)] = event.at;
      return;
    }
    if (event.type == &ev::store_serving) {
      if (text(event, "purpose") == "rendezvous") begin(event);
      return;
    }
    const auto found = servers_.find(process_of(event));
    if (found == servers_.end()) return;
    if (event.type == &ev::store_stopped && number(event, "port") != found->second.port) return;
    const Server server = found->second;
    servers_.erase(found);
    gone(event, server);
  }

  void begin(const sim::Event& event) {
    Server& server = servers_[process_of(event)];
    server = {view().agent_of(event), number(event, "port"), event.at};
    if (server.agent == kNoAgent) return;
    const auto own =
        own_stores_.insert_or_assign(view().agent(server.agent).job, process_of(event));
    server.is_first = own.second;
  }

  void gone(const sim::Event& event, const Server& server) {
    for (std::uint32_t i = 0; i < view().job_count(); ++i) {
      const JobId job{i};
      const auto own = own_stores_.find(job);
      const bool served =
          own == own_stores_.end() ? serves_others(server) : own->second == process_of(event);
      if (served && !view().job(job).over) harm(event, server, job);
    }
  }

  /// A job without a store of its own uses an outside store, or another job's when there is no
  /// outside one.
  [[nodiscard]] bool serves_others(const Server& server) const {
    if (server.agent == kNoAgent) return true;
    for (const auto& [process, other] : servers_) {
      if (other.agent == kNoAgent) return false;
    }
    return true;
  }

  /// An agent does not stay for one that it cannot know: a store that came up empty has not heard
  /// of those that have not come to it.
  [[nodiscard]] bool has_come(AgentId id, const Server& server) const {
    const auto heard = heard_.find(id);
    return server.is_first || (heard != heard_.end() && heard->second >= server.since);
  }

  /// What keeps the server from hearing of the agent that needs it, or takes the store itself.
  [[nodiscard]] const Hindrance* hindrance_of(const sim::Event& event, const Server& server,
                                              AgentId id) const {
    const Ledger& ledger = view().ledger();
    if (const auto* const taken = ledger.taken_at(event.at)) return taken;
    const auto before = [&](AgentId agent) {  // that the store goes is no excuse for its going
      Claimant who = view().claimant(agent);
      who.until = event.at;
      return ledger.find(who, needs(), event.at, event.at);
    };
    const auto* const found = before(id);
    return found != nullptr || server.agent == kNoAgent ? found : before(server.agent);
  }

  /// One of those that needed it is told of: one that nothing hinders, if there is one.
  void harm(const sim::Event& event, const Server& server, JobId job) {
    AgentId harmed = kNoAgent;
    const Hindrance* by = nullptr;
    for (const AgentId id : view().job(job).agents) {
      if (id == server.agent || !needs_it(view().agent(id)) || !has_come(id, server)) continue;
      const Hindrance* const own = hindrance_of(event, server, id);
      if (harmed != kNoAgent && own != nullptr) continue;
      harmed = id;
      by = own;
      if (own == nullptr) break;
    }
    if (harmed == kNoAgent) return kept();
    broken(event,
           fmt::format("the rendezvous store on node {} (pid {}, port {}) went at {} while {} "
                       "still needed it: {}",
                       view().name(event.node), event.pid.value, server.port,
                       seconds_text(event.at), view().describe(harmed), need(view().agent(harmed))),
           by);
  }

  [[nodiscard]] static bool needs_it(const Agent& agent) {
    const bool waits = agent.alive() && !agent.signalled && agent.stage == Stage::barrier;
    const bool given_up = agent.stage == Stage::running && !agent.member;
    return (agent.at_work() || waits) && agent.stage != Stage::starting && !given_up;
  }

  static std::string need(const Agent& agent) {
    switch (agent.stage) {
      case Stage::barrier: return "it waits in the exit barrier for others that are not done";
      case Stage::joining:
        return agent.spare ? "it is a spare of a job that goes on" : "it is joining";
      default: return fmt::format("it is a member of round {} with work to do", agent.round);
    }
  }

  std::map<ProcessKey, Server> servers_;
  std::map<JobId, ProcessKey> own_stores_;
  std::map<AgentId, sim::WorldTime> heard_;  ///< when a rendezvous store last answered whom
};

/// MASTER_ADDR that a worker of round r gets names the node of rank 0 of r, and MASTER_PORT no
/// endpoint that was gone before the round was completed. A name that every machine has for itself
/// leads a worker to its own machine: only rank 0's workers may be sent there. A port that nobody
/// has listened on yet is allowed: where agents do not serve the workers' store, rank 0's worker
/// opens it later. The loss of rank 0 after the completion is a loss like any other.
class Bootstrap final : public Judge {
 public:
  Bootstrap()
      : Judge("safety.bootstrap",
              "Workers of a round are sent to a living endpoint owned by rank 0 of that round.",
              {&wev::listener_opened, &wev::listener_closed, &wev::process_ended,
               &ev::worker_started, &ev::rendezvous_joined, &ev::ranks_assigned},
              kNames) {}

 private:
  struct Sent {
    std::string master;
    ProcessKey worker{};

    [[nodiscard]] bool to_itself() const { return host_of(master) == "localhost"; }
    [[nodiscard]] bool as_well_as(const Sent& other) const {
      return master == other.master && (!to_itself() || worker.node == other.worker.node);
    }
  };
  /// The masters of a round: the one judged last, and those that came before rank 0 was known.
  struct Masters {
    Sent judged;
    std::vector<Sent> pending;
  };
  struct Endpoint {
    sim::NodeId node{};
    std::int64_t port = 0;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
  };

  void judge(const sim::Event& event) override {
    if (event.type == &wev::listener_opened) {
      closed_.erase({event.node, number(event, "port")});
      open_[process_of(event)].push_back(number(event, "port"));
    } else if (event.type == &wev::listener_closed) {
      if (const auto found = open_.find(process_of(event)); found != open_.end()) {
        std::erase(found->second, number(event, "port"));
      }
      closed_[{event.node, number(event, "port")}] = event.at;
    } else if (event.type == &wev::process_ended) {
      process_ended(event);
    } else {
      agent_event(event);
    }
  }

  void process_ended(const sim::Event& event) {
    const auto found = open_.find(process_of(event));
    if (found == open_.end()) return;
    for (const std::int64_t port : found->second) closed_[{event.node, port}] = event.at;
    open_.erase(found);
  }

  void agent_event(const sim::Event& event) {
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    const std::pair key{view().agent(agent).job, number(event, "round")};
    const Round* const round = view().round(key.first, key.second);
    const bool known = round != nullptr && round->first != kNoAgent;
    if (event.type == &ev::worker_started) {
      Masters& masters = masters_[key];
      const Sent sent{std::string(text(event, "master")), {event.node, pid(event, "worker_pid")}};
      if (known && masters.judged.as_well_as(sent)) return;
      if (known) {
        masters.judged = sent;
        check(event, sent, key.second, *round);
      } else if (masters.pending.empty() || !masters.pending.back().as_well_as(sent)) {
        masters.pending.push_back(sent);
      }
      if (masters_.size() > kRoundsKept) masters_.erase(masters_.begin());
    } else if (known && round->first == agent) {
      const auto found = masters_.find(key);
      if (found == masters_.end()) return;
      for (const Sent& sent : std::exchange(found->second.pending, {}))
        check(event, sent, key.second, *round);
    }
  }

  void check(const sim::Event& event, const Sent& sent, std::int64_t number_of_round,
             const Round& round) {
    const auto node = sent.to_itself() ? std::optional(sent.worker.node)
                                       : view().node_called(host_of(sent.master));
    const Agent& first = view().agent(round.first);
    const auto sent_where = [&] {
      return fmt::format("worker pid {} on node {} of round {} is sent to {}",
                         sent.worker.pid.value, view().name(sent.worker.node), number_of_round,
                         sent.master);
    };
    if (!node) return;  // an alias of a machine whose agents go by another name
    if (*node != first.node) {
      // Of two stores each may have a round of that number.
      broken(event,
             fmt::format("{} (node {}), but rank 0 of that round is {}", sent_where(),
                         view().name(*node), view().describe(round.first)),
             hindrance(round.first, needs(), event.at, event.at));
      return;
    }
    const std::string_view port_text =
        std::string_view(sent.master).substr(host_of(sent.master).size());
    std::int64_t port = 0;
    if (port_text.size() > 1)
      std::from_chars(port_text.data() + 1, port_text.data() + port_text.size(), port);
    const auto closed = closed_.find({*node, port});
    if (closed == closed_.end()) return kept();
    if (round.completed && closed->second + kTold > *round.completed) return kept();
    broken(event, fmt::format("{}, where nobody has listened since {}", sent_where(),
                              seconds_text(closed->second)));
  }

  /// A completion is told by whoever wrote it, up to a slow acknowledgement later than others know
  /// of it.
  static constexpr sim::Duration kTold = std::chrono::seconds(1);
  static constexpr std::size_t kRoundsKept = 8;
  std::map<std::pair<JobId, std::int64_t>, Masters> masters_;
  std::map<ProcessKey, std::vector<std::int64_t>> open_;
  std::map<Endpoint, sim::WorldTime> closed_;
};

}  // namespace

void add_stores(InvariantRegistry& registry) {
  registry.add<StoreLifetime>();
  registry.add<Bootstrap>();
}

}  // namespace hooke::properties
