// What the agent has heard, and what it makes of it. Beats are judged where they arrive: that a
// worker sends them says nothing about the link.
#include <algorithm>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/heartbeat_roll.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Under "mark", a signal to workers while one of them is lost needs another reason: a restart, an
/// order to end, a worker that has ended, or an error of the agent, of which it tells last: one that
/// is killed while it still stops its workers takes the reason along.
class MarkedSignals {
 public:
  /// The first signal of an agent for which there is no such reason.
  struct Blow {
    sim::WorldTime at{};
    sim::EventId event{};
    std::int64_t worker = 0;
  };

  /// The agent starts workers.
  void begin(AgentId agent, const std::string& policy) {
    policies_[agent] = policy;
    ended_.erase(agent);
  }
  const std::string& policy_of(AgentId agent) { return policies_[agent]; }
  void worker_ended(AgentId agent) { ended_.insert(agent); }
  /// A worker of the agent has lost its heartbeat.
  void signalled(const sim::Event& event, AgentId id, const JobView& view) {
    const Agent& self = view.agent(id);
    if (policies_[id] != "mark" || ended_.contains(id) || self.signalled) return;
    if (self.stage == Stage::running)
      blows_.try_emplace(id, Blow{event.at, event.id, number(event, "worker_pid")});
  }
  /// What the agent's end leaves without a reason.
  std::optional<Blow> finished(const sim::Event& event, AgentId agent) {
    const auto blow = blows_.extract(agent);
    const std::string_view outcome = text(event, "outcome");
    const bool tells = outcome == "succeeded" || outcome == "failed";
    return blow && tells ? std::optional(blow.mapped()) : std::nullopt;
  }
  /// Without a word, else its blow is forgotten already.
  void agent_ended(AgentId agent, const JobView& view) {
    const auto is_stopped = [](const Process& worker) {
      return worker.told_to_stop && !worker.ended;
    };
    if (view.any_worker(agent, is_stopped)) blows_.erase(agent);
  }
  [[nodiscard]] const std::map<AgentId, Blow>& blows() const { return blows_; }

 private:
  std::map<AgentId, std::string> policies_;
  std::set<AgentId> ended_;  ///< a worker of theirs has ended in this incarnation
  std::map<AgentId, Blow> blows_;
};

class HeartbeatSafety final : public Judge {
 public:
  HeartbeatSafety()
      : Judge("safety.heartbeat_safety",
              "Only a silent worker is lost, until it beats again; a loss ends workers only by "
              "policy.",
              {&ev::heartbeat_expected, &ev::heartbeat_received, &ev::heartbeat_lost,
               &ev::heartbeat_returned, &ev::worker_signalled, &ev::worker_ended,
               &ev::group_restarting, &ev::agent_finished, &wev::process_ended}) {}

 private:
  void at_end(const RunFacts& facts) override {
    static_cast<void>(facts);
    for (const auto& [agent, blow] : signals_.blows()) tell(agent, blow);
  }
  void judge(const sim::Event& event) override {
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    if (event.type == &ev::worker_signalled) {
      if (!lost_[agent].empty()) signals_.signalled(event, agent, view());
      return;
    }
    if (event.type == &ev::agent_finished) {
      if (const auto blow = signals_.finished(event, agent)) tell(agent, *blow);
      return;
    }
    if (event.type == &wev::process_ended) return signals_.agent_ended(agent, view());
    if (event.type == &ev::group_restarting) {
      judge_restart(event, agent);
      lost_.erase(agent);
      return;
    }
    if (event.type == &ev::worker_ended) {  // may be a reason of its own
      signals_.worker_ended(agent);
      ended_workers_.insert({event.node, pid(event, "worker_pid")});
      return;
    }
    ExpectedWorker* const worker = roll_.take(event, agent);
    if (event.type == &ev::heartbeat_expected) {
      signals_.begin(agent, worker->policy);
      ended_workers_.erase(worker->process);
      lost_[agent].erase(std::string(text(event, "worker")));
    } else if (event.type == &ev::heartbeat_returned) {
      if (lost_[agent].erase(std::string(text(event, "worker"))) > 0) return kept();
      broken(event, "{} says at {} that its worker {} is back, which was not lost", agent, event.at,
             text(event, "worker"));
    } else if (worker != nullptr && event.type == &ev::heartbeat_received) {
      worker->heard = worker->since = event.at;
      judge_return(event, agent, *worker);
    } else if (worker != nullptr) {
      judge_loss(event, *worker);
      const bool news = lost_[agent].insert(std::string(text(event, "worker"))).second;
      if (!news || ended_workers_.contains(worker->process)) tell_needless(event, *worker, news);
    }
  }

  /// The agent's clock may run a little faster than true time, one that goes wrong a tenth.
  void judge_loss(const sim::Event& event, const ExpectedWorker& worker) {
    const auto patience = worker.patience();
    const sim::Duration silent = event.at - worker.since;
    const int tolerance = view().ledger().drifts(event.node) ? 10 : 100;
    if (patience && silent >= *patience - *patience / tolerance) return kept();
    broken(event,
           "the agent on node {} gave rank {} up at {}, although its last beat "
           "had come only {} ago",
           event.node, worker.rank, event.at, silent);
  }

  /// The agent tells of the return before the beat that shows it.
  void judge_return(const sim::Event& event, AgentId agent, const ExpectedWorker& worker) {
    if (lost_[agent].erase(std::string(text(event, "worker"))) == 0) return kept();
    broken(
        event,
        "the agent on node {} has heard from rank {} again at {}, which it had given up, and does "
        "not say so",
        event.node, worker.rank, event.at);
  }

  void tell_needless(const sim::Event& event, const ExpectedWorker& worker, bool news) {
    broken(event, "the agent on node {} gave rank {} (pid {}) up at {}, although {}", event.node,
           worker.rank, worker.process.pid, event.at,
           news ? "it had learnt of its end" : "it had done so already");
  }

  void judge_restart(const sim::Event& event, AgentId agent) {
    if (text(event, "cause") != "heartbeat_loss") return;
    const std::string& policy = signals_.policy_of(agent);
    if (policy == "restart") return kept();
    broken(event,
           "{} restarted its workers at {} for a lost heartbeat; its policy is "
           "\"{}\"",
           agent, event.at, policy);
  }

  void tell(AgentId agent, const MarkedSignals::Blow& blow) {
    violated(blow.at, blow.event,
             say("{} signalled pid {} at {} while all it had against its workers was a lost "
                 "heartbeat; its policy is \"mark\"",
                 agent, blow.worker, blow.at));
  }

  HeartbeatRoll roll_;
  MarkedSignals signals_;
  std::map<AgentId, std::set<std::string>> lost_;  ///< names
  std::set<ProcessKey> ended_workers_;             ///< of whose end their agents have told
};

/// Bound: what the worker may be silent + two looks + 1 s, from the latest beat. An agent whose
/// requests are held up, where their order is searched, looks only when a request has been answered
/// or its time-out has passed.
class HeartbeatLossSeen final : public Judge {
 public:
  HeartbeatLossSeen()
      : Judge("liveness.heartbeat_loss_seen",
              "A worker from which nothing comes any more is declared lost.",
              {&ev::heartbeat_expected, &ev::heartbeat_received, &ev::heartbeat_lost,
               &ev::worker_ended, &ev::worker_signalled, &ev::group_restarting, &ev::agent_finished,
               &wev::process_ended, &wev::request_arrived},
              kAsking | kTasks) {}

 private:
  static constexpr sim::Duration kLate = std::chrono::seconds(1);
  /// Read time-outs that held-up requests may keep an agent busy: one that comes late to a look
  /// because of the first gives its workers a deadline more, in which another is held up.
  static constexpr int kHeld = 2;

  void judge(const sim::Event& event) override {
    if (event.type == &wev::request_arrived) {
      requests_are_held_ = true;
      return;
    }
    if (event.type == &wev::process_ended) {
      const ProcessKey ended = process_of(event);
      const AgentId agent = view().agent_of(event);
      return drop(event, [&](const ExpectedWorker& worker) {
        return worker.process == ended || (agent != kNoAgent && worker.agent == agent);
      });
    }
    const AgentId agent = view().agent_of(event);
    if (event.type == &ev::group_restarting || event.type == &ev::worker_ended ||
        event.type == &ev::worker_signalled || event.type == &ev::agent_finished) {
      const bool of_one = event.type == &ev::worker_ended;
      const ProcessKey process{event.node, of_one ? pid(event, "worker_pid") : sim::Pid{}};
      return drop(event, [&](const ExpectedWorker& worker) {
        return worker.agent == agent && (!of_one || worker.process == process);
      });
    }
    const std::string name(text(event, "worker"));
    ExpectedWorker* const worker = roll_.take(event, agent);
    if (worker == nullptr) return;
    due_.met(name, event);
    if (event.type == &ev::heartbeat_lost) return;
    if (event.type == &ev::heartbeat_received) {
      worker->heard = worker->since = event.at;
      if (number(event, "last") != 0) return;
    }
    if (const auto patience = worker->patience()) {
      const sim::Duration looks = 2 * view().agent(agent).timeouts.monitor;
      const sim::Duration held =
          requests_are_held_ ? kHeld * view().agent(agent).timeouts.read_timeout : sim::Duration();
      due_.owe(name, {event.at, *patience + looks + kLate + held, agent, kNoAgent, event.id});
    }
  }

  template <class Match>
  void drop(const sim::Event& event, Match match) {
    roll_.drop(match,
               [&](const std::string& name, const ExpectedWorker&) { due_.met(name, event); });
  }

  HeartbeatRoll roll_;
  bool requests_are_held_ = false;
  Obligations<std::string> due_{
      *this, "silence + two looks + 1 s", [this](const std::string& name, const Due& due) {
        return say("{} last heard of its worker {} at {} and should have declared it lost", due.who,
                   name, due.since);
      }};
};

}  // namespace

void add_heartbeats(InvariantRegistry& registry) {
  registry.add<HeartbeatSafety, HeartbeatLossSeen>();
}

}  // namespace hooke::properties
