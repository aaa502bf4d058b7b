// Stores as agents and workers need them: there as long as one of them needs them, where they are
// said to be, and with one order of all that is read and written.
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "properties/linearizability/told_register.h"

namespace hooke::properties {
namespace {

bool needs_it(const Agent& agent) {
  const bool waits = agent.alive() && !agent.signalled && agent.stage == Stage::barrier;
  const bool given_up = agent.stage == Stage::running && !agent.member;
  return (agent.at_work() || waits) && agent.stage != Stage::starting && !given_up;
}

/// A job without a store of its own uses an outside store, or another job's when there is no outside
/// one.
bool serves_others(const Service& server, const JobView& view) {
  return server.agent == kNoAgent || std::ranges::none_of(view.services(), [](const auto& other) {
           return other.current && other.agent == kNoAgent;
         });
}

/// When a rendezvous store last answered each agent.
class Answered {
 public:
  void take(AgentId id, sim::WorldTime at) {
    if (id == kNoAgent) return;
    if (id.value >= latest_.size()) latest_.resize(id.value + 1);
    latest_[id.value] = at;
  }
  /// It was since then.
  [[nodiscard]] bool was(AgentId id, sim::WorldTime since) const {
    return id.value < latest_.size() && latest_[id.value] && *latest_[id.value] >= since;
  }

 private:
  std::vector<std::optional<sim::WorldTime>> latest_;
};

constexpr const char* kStoreWent =
    "the rendezvous store on node {} (pid {}, port {}) went at {} while {} still needed it: {}";

/// Judged for the rendezvous store. It is needed by an agent that is joining, a member, or
/// restarting, has not been told to end, and whose job is not decided yet; an agent in the exit
/// barrier needs it until all have come there. The job of a store is that of the agent that serves
/// it; any other store serves all jobs that have none of their own. No agent keeps a store that is
/// killed, alone or with its machine, or told to go: only one outside of the job outlives that. Nor
/// does one that has met an error, and in ending for that, as it serves the others, a second one
/// that a fault has put there.
class StoreLifetime final : public Judge {
 public:
  StoreLifetime()
      : Judge("safety.store_lifetime", "A store outlives every client that still needs it.",
              {&ev::store_serving, &ev::store_stopped, &ev::rendezvous_exchanged,
               &wev::process_ended},
              kAsking) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) answered_.take(view().agent_of(event), event.at);
    const Service* const server = view().service_ended_at(event);
    if (server == nullptr) return;
    for (JobId job{0}; job.value < view().job_count(); ++job.value) {
      const Service* const own = view().latest_service(job);
      const bool served =
          own == nullptr ? serves_others(*server, view()) : own->process == server->process;
      if (served && !view().job(job).over) harm(event, *server, job);
    }
  }

  /// An agent does not stay for one that it cannot know: a store that came up empty has not heard
  /// of those that have not come to it, nor of the members of a round that was formed in an older
  /// one and is served there still.
  [[nodiscard]] bool has_come(AgentId id, const Service& server) const {
    if (server.is_first) return true;
    if (!answered_.was(id, server.since)) return false;
    const Round* const round = view().round(agent(id).job, agent(id).round);
    const bool is_older = round != nullptr && round->completed && *round->completed < server.since;
    return !is_older || std::ranges::none_of(view().services(), [&](const Service& older) {
      return older.current && older.job == server.job && older.since < server.since;
    });
  }

  /// What keeps the server from hearing of the agent that needs it, or takes the store itself.
  [[nodiscard]] const Hindrance* hindrance_of(const sim::Event& event, const Service& server,
                                              AgentId id) const {
    const Ledger& ledger = view().ledger();
    if (const auto* const taken = ledger.taken_at(event.at)) return taken;
    const bool cut_short = server.agent != kNoAgent && agent(server.agent).errors > 1;
    if (cut_short) return error_put_into(server.agent, event.at);
    const auto before = [&](AgentId agent) {  // that the store goes is no excuse for its going
      Claimant who = view().claimant(agent);
      who.until = event.at;
      return ledger.find(who, needs(), event.at, event.at);
    };
    const auto* const found = before(id);
    return found != nullptr || server.agent == kNoAgent ? found : before(server.agent);
  }

  /// One of those that needed it is told of: one that nothing hinders, if there is one.
  void harm(const sim::Event& event, const Service& server, JobId job) {
    AgentId harmed = kNoAgent;
    const Hindrance* by = nullptr;
    for (const AgentId id : view().job(job).agents) {
      if (id == server.agent || !needs_it(agent(id)) || !has_come(id, server)) continue;
      const Hindrance* const own = hindrance_of(event, server, id);
      if (harmed != kNoAgent && own != nullptr) continue;
      harmed = id;
      by = own;
      if (own == nullptr) break;
    }
    if (harmed == kNoAgent) return kept();
    broken(event, by, kStoreWent, event.node, event.pid, server.port, event.at, harmed,
           need(agent(harmed)));
  }

  [[nodiscard]] std::string need(const Agent& agent) const {
    switch (agent.stage) {
      case Stage::barrier: return "it waits in the exit barrier for others that are not done";
      case Stage::joining:
        return agent.spare ? "it is a spare of a job that goes on" : "it is joining";
      default: return say("it is a member of round {} with work to do", agent.round);
    }
  }

  Answered answered_;
};

/// What a worker was told of its meeting point.
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

/// MASTER_ADDR that a worker of round r gets names the node of rank 0 of r, and MASTER_PORT no
/// endpoint that was gone before the round was completed. A name that every machine has for itself
/// leads a worker to its own machine: only rank 0's workers may be sent there. A port on which no
/// process has listened yet is allowed: where agents do not serve the workers' store, rank 0's
/// worker opens it later. The loss of rank 0 after the completion is a loss like any other.
class Bootstrap final : public Judge {
 public:
  Bootstrap()
      : Judge("safety.bootstrap",
              "Workers of a round are sent to a living endpoint owned by rank 0 of that round.",
              {&wev::listener_opened, &wev::listener_closed, &wev::process_ended,
               &ev::worker_started, &ev::rendezvous_joined, &ev::ranks_assigned},
              kNames) {}

 private:
  using Endpoint = std::pair<sim::NodeId, std::int64_t>;

  void judge(const sim::Event& event) override {
    if (event.type == &wev::listener_opened) {
      closed_.erase({event.node, number(event, "port")});
      open_[process_of(event)].push_back(number(event, "port"));
    } else if (event.type == &wev::listener_closed) {
      std::erase(open_[process_of(event)], number(event, "port"));
      closed_[{event.node, number(event, "port")}] = event.at;
    } else if (event.type == &wev::process_ended) {
      const auto ports = open_.extract(process_of(event));
      if (ports.empty()) return;
      for (const std::int64_t port : ports.mapped()) closed_[{event.node, port}] = event.at;
    } else {
      Judge::judge(event);
    }
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const std::pair key{agent(id).job, number(event, "round")};
    const Round* const round = view().round(key.first, key.second);
    const bool known = round != nullptr && round->first != kNoAgent;
    if (event.type == &ev::worker_started) {
      Masters& masters = masters_[key];
      const Sent sent{std::string(text(event, "master")), worker_of(event)};
      if (known && masters.judged.as_well_as(sent)) return;
      if (known) {
        masters.judged = sent;
        check(event, sent, key.second, *round);
      } else if (masters.pending.empty() || !masters.pending.back().as_well_as(sent)) {
        masters.pending.push_back(sent);
      }
      if (masters_.size() > kRoundsKept) masters_.erase(masters_.begin());
    } else if (known && round->first == id && masters_.contains(key)) {
      for (const Sent& sent : std::exchange(masters_[key].pending, {}))
        check(event, sent, key.second, *round);
    }
  }

  void check(const sim::Event& event, const Sent& sent, std::int64_t number_of_round,
             const Round& round) {
    const std::string_view host = host_of(sent.master);
    const auto node = sent.to_itself() ? std::optional(sent.worker.node) : view().node_called(host);
    if (!node) return;  // an alias of a machine whose agents go by another name
    const std::string where =
        say("worker {} of round {} is sent to {}", sent.worker, number_of_round, sent.master);
    if (*node != agent(round.first).node)  // of two stores each may have a round of that number
      return broken(event, hindrance(round.first, needs(), event.at, event.at),
                    "{} (node {}), but rank 0 of that round is {}", where, *node, round.first);
    const std::string port_text = sent.master.substr(std::min(host.size() + 1, sent.master.size()));
    std::int64_t port = 0;
    std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    const auto closed = closed_.find({*node, port});
    if (closed == closed_.end()) return kept();
    if (round.completed && closed->second + kTold > *round.completed) return kept();
    broken(event, "{}, where nothing has listened since {}", where, closed->second);
  }

  /// A completion is told by an agent that wrote it, up to a slow acknowledgement later than others
  /// know of it.
  static constexpr sim::Duration kTold = std::chrono::seconds(1);
  static constexpr std::size_t kRoundsKept = 8;
  std::map<std::pair<JobId, std::int64_t>, Masters> masters_;
  std::map<ProcessKey, std::vector<std::int64_t>> open_;
  std::map<Endpoint, sim::WorldTime> closed_;
};

using Kind = ToldOperation::Kind;

/// etcd keeps a state for two hours after it was written.
constexpr sim::Duration kLifeMin = std::chrono::hours(1);

/// A name has led an agent of the job to the store.
bool is_asked_by(JobId job, const Service& store, const JobView& view) {
  return job != kNoJob && view.any_agent(job, [&](AgentId, const Agent& agent) {
    return agent.led_to && &view.services()[*agent.led_to] == &store;
  });
}

/// When the job's store changed, and as long as it was not clear which one that is.
std::vector<RegisterHistory::Span> gaps_of(JobId job, const JobView& view) {
  std::vector<RegisterHistory::Span> out;
  std::map<sim::EventId, std::pair<const Service*, bool>> changes;  ///< one begins, or ends
  for (const Service& service : view.services()) {
    changes[service.began] = {&service, true};
    if (service.ended != sim::kNoEvent) changes[service.ended] = {&service, false};
  }
  std::map<JobId, std::int64_t> serving;
  std::int64_t all = 0;
  std::int64_t led_astray = 0;
  std::int64_t anothers = 0;
  std::optional<sim::WorldTime> unclear;
  for (const auto& [event, change] : changes) {
    const auto& [service, begins] = change;
    const sim::WorldTime at = begins ? service->since : service->to;
    serving[service->job] += begins ? 1 : -1;
    all += begins ? 1 : -1;
    if (service->job != job && is_asked_by(job, *service, view)) anothers += begins ? 1 : -1;
    if (service->job == job && service->led_astray) led_astray += begins ? 1 : -1;
    // An agent of another job serves this one only if no agent of its own does, or one that should
    // not, or if a name has led to it.
    const std::int64_t own = serving[job] + (job == kNoJob ? 0 : serving[kNoJob]) + anothers;
    const bool is_unclear = (own > led_astray ? own : all) > 1;
    if (is_unclear && !unclear) unclear = at;
    if (!is_unclear) out.push_back({std::exchange(unclear, std::nullopt).value_or(at), at});
  }
  if (unclear) out.push_back({*unclear, sim::WorldTime::max()});
  return out;
}

/// An agent that was killed, lost a fiber, or was not over when the run was, may have made one more
/// write, of which it could not tell: over what it told last. Stores that come and go take what
/// stood there along, and while there are several no agent tells which it used. Where no agent has
/// written for an hour, the state's time may be over (S-22).
class StoreLinearizable final : public Judge {
 public:
  StoreLinearizable()
      : Judge("safety.store_linearizable",
              "All reads and writes of the rendezvous state fit one order.",
              {&ev::rendezvous_exchanged, &ev::store_serving, &ev::store_stopped,
               &ev::etcd_misbehaved, &wev::process_ended, &wev::fault_injected},
              kContents) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) return exchanged(event);
    if (event.type == &wev::fault_injected) {
      if (text(event, "kind") == "fiber_dies") fiber_died(text(event, "target"));
    } else if (event.type == &ev::etcd_misbehaved) {
      auto& since = text(event, "how") == "expiry" ? expired_ : stale_;
      if (!since) since = event.at;
    } else if (serves_rendezvous(event) || view().service_ended_at(event) != nullptr) {
      for (auto& [run_id, told] : jobs_) told.keep_reads();
    }
  }

  void fiber_died(std::string_view target) {
    const auto is_target = [&](sim::NodeId node, sim::Pid pid) {
      return target == say("{} pid {}", node, pid);
    };
    for (auto& [run_id, told] : jobs_) told.part_died(is_target);
  }

  void exchanged(const sim::Event& event) {
    const std::string_view word = text(event, "kind");
    const Kind kind = word == "read" ? Kind::read : word == "write" ? Kind::write : Kind::attempt;
    jobs_[std::string(text(event, "run_id"))].take(
        {kind, number(event, "expected"), number(event, "value"), event.at, span(event, "began"),
         span(event, "ended"), event.node, event.pid, view().agent_of(event).value, event.id});
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (auto& [run_id, told] : jobs_) {
      if (!enough()) examine(view().find_job(run_id), told);
    }
  }

  void examine(JobId job, ToldRegister& told) {
    const auto may_write = [&](const ToldOperation& latest) {
      const AgentId id{latest.client};
      return id == kNoAgent || agent(id).outcome != "succeeded";
    };
    const auto stood_still = [&](auto at) { return view().ledger().clock_stood_still(at); };
    const auto wrong =
        told.unexplained({gaps_of(job, view()), expired_, kLifeMin, stood_still, may_write}, 5);
    if (wrong.empty()) kept();
    const auto name = [&](const ToldOperation& each) {
      if (AgentId{each.client} != kNoAgent) return view().describe(AgentId{each.client});
      return say("process {} on node {}", each.pid, each.node);
    };
    for (const ToldOperation& each : wrong) {
      const bool stale = stale_ && *stale_ <= each.at;
      broken(each.at, each.event, told.witness(each, name),
             stale ? hindrance(AgentId{each.client}, needs(), *stale_, each.at) : nullptr);
    }
  }

  std::map<std::string, ToldRegister> jobs_;
  std::optional<sim::WorldTime> stale_, expired_;
};

}  // namespace

void add_stores(InvariantRegistry& registry) {
  registry.add<StoreLifetime, Bootstrap, StoreLinearizable>();
}

}  // namespace hooke::properties
