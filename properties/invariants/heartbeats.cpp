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
    const bool has_reason = ended_.contains(id) || self.signalled || view.job(self.job).over;
    if (policies_[id] != "mark" || has_reason) return;
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

/// The workers that agents have given up, and those of whose end they have told.
class Losses {
 public:
  /// A worker beats again. True: it was lost.
  bool found(const sim::Event& event, AgentId id) {
    return lost_[id].erase(std::string(text(event, "worker"))) > 0;
  }
  /// The agent starts all its workers anew.
  void forget(AgentId id) { lost_.erase(id); }
  void started(const sim::Event& event, AgentId id) {
    ended_.erase(worker_of(event));
    found(event, id);
  }
  void ended(ProcessKey worker) { ended_.insert(worker); }
  [[nodiscard]] bool any_of(AgentId id) const {
    const auto found = lost_.find(id);
    return found != lost_.end() && !found->second.empty();
  }
  /// Why the agent has no reason to give the worker up, as it does; null: it may have one.
  const char* needless(const sim::Event& event, AgentId id, ProcessKey worker) {
    if (!lost_[id].insert(std::string(text(event, "worker"))).second)
      return "it had done so already";
    return ended_.contains(worker) ? "it had learnt of its end" : nullptr;
  }

 private:
  std::map<AgentId, std::set<std::string>> lost_;  ///< names
  std::set<ProcessKey> ended_;
};

// What is said of a worker that an agent gives up without a reason, of one that it does not take
// back, and of a signal for which a loss is no reason.
constexpr const char* kGivenUp = "the agent on node {} gave rank {}{} up at {}, although {}";
constexpr const char* kNotTakenBack =
    "the agent on node {} has heard from rank {} again at {}, which it had given up, and does not "
    "say so";
constexpr const char* kAgainstPolicy =
    "{} restarted its workers at {} for a lost heartbeat; its policy is \"{}\"";
constexpr const char* kTooSeldom =
    "the agent on node {} has heard rank {} at {}, for the third time in a row, only when it would "
    "soon have been lost: it may be silent for {}";
constexpr const char* kNotLost = "{} says at {} that its worker {} is back, which was not lost";
constexpr const char* kMarkedOnly =
    "{} signalled pid {} at {} while all it had against its workers was a lost heartbeat; its "
    "policy is \"mark\"";

/// A worker that is heard three times in a row only when nine tenths of what it may be silent for are
/// over, though nothing hindered its agent, has been told to beat too seldom: a little more, and it is
/// lost while it works.
class HeartbeatSafety final : public Judge {
 public:
  HeartbeatSafety()
      : Judge("safety.heartbeat_safety",
              "Only a silent worker is declared lost, and only until it beats again; a loss ends "
              "workers only where the policy says so.",
              {}) {
    on_agent({&ev::worker_signalled}, [this](auto& event, AgentId id) {
      if (losses_.any_of(id)) signals_.signalled(event, id, view());
    });
    on_agent({&ev::agent_finished}, [this](auto& event, AgentId id) {
      if (const auto blow = signals_.finished(event, id)) tell(id, *blow);
    });
    on_agent({&wev::process_ended},
             [this](auto&, AgentId id) { signals_.agent_ended(id, view()); });
    on_agent({&ev::worker_ended}, [this](auto& event, AgentId id) {
      signals_.worker_ended(id);
      losses_.ended(worker_of(event));
    });
    on_agent({&ev::heartbeat_expected}, [this](auto& event, AgentId id) {
      signals_.begin(id, roll_.take(event, id)->policy);
      losses_.started(event, id);
    });
    // Until then a worker that was given up may still come back, in the time that it has to stop.
    on_agent({&ev::worker_started}, [this](auto&, AgentId id) { losses_.forget(id); });
    on_agent({&ev::group_restarting}, &HeartbeatSafety::restarting);
    on_agent({&ev::heartbeat_received}, &HeartbeatSafety::received);
    on_agent({&ev::heartbeat_returned}, [this](auto& event, AgentId id) {
      if (losses_.found(event, id)) return kept();
      broken(event, kNotLost, id, event.at, text(event, "worker"));
    });
    on_agent({&ev::heartbeat_lost}, &HeartbeatSafety::lost);
  }

 private:
  void received(const sim::Event& event, AgentId id) {
    ExpectedWorker* const worker = roll_.take(event, id);
    if (worker == nullptr) return;
    const sim::WorldTime from = event.at - ExpectedWorker::kLateBeats * worker->deadline;
    if (worker->beat(event.at) && !excused(hindrance(id, kItself | kPath, from, event.at)))
      broken(event, kTooSeldom, event.node, worker->rank, event.at, worker->deadline);
    if (!losses_.found(event, id)) return kept();
    broken(event, kNotTakenBack, event.node, worker->rank, event.at);
  }

  /// The agent's clock may run a little faster than true time, one that goes wrong a tenth.
  void lost(const sim::Event& event, AgentId id) {
    const ExpectedWorker* const worker = roll_.take(event, id);
    if (worker == nullptr) return;
    if (worker->is_late(event.at, view().ledger().drifts(event.node) ? 10 : 100)) {
      kept();
    } else {
      broken(event, kGivenUp, event.node, worker->rank, "", event.at,
             say("its last beat had come only {} ago", event.at - worker->since));
    }
    if (const char* const why = losses_.needless(event, id, worker->process)) {
      broken(event, kGivenUp, event.node, worker->rank, say(" (pid {})", worker->process.pid),
             event.at, why);
    }
  }

  void restarting(const sim::Event& event, AgentId id) {
    if (text(event, "cause") != "heartbeat_loss") return;
    if (signals_.policy_of(id) == "restart") return kept();
    broken(event, kAgainstPolicy, id, event.at, signals_.policy_of(id));
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (const auto& [id, blow] : signals_.blows()) tell(id, blow);
  }

  void tell(AgentId id, const MarkedSignals::Blow& blow) {
    violated(blow.at, blow.event, say(kMarkedOnly, id, blow.worker, blow.at));
  }

  HeartbeatRoll roll_;
  MarkedSignals signals_;
  Losses losses_;
};

/// Bound: what the worker may be silent + two looks + 1 s, from the latest beat. An agent whose
/// requests are held up, where their order is searched, looks only when a request has been answered
/// or its time-out has passed.
class HeartbeatLossSeen final : public Judge {
 public:
  HeartbeatLossSeen()
      : Judge("liveness.heartbeat_loss_seen",
              "A worker that sends no heartbeat any more is declared lost.",
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
