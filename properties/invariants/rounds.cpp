// What holds of a job's rounds, one after the other, and of those that stay open for others.
#include <algorithm>
#include <map>
#include <optional>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Judged for each agent process by itself: two agents may learn of their rounds in any order.
class RoundMonotonic final : public Judge {
 public:
  RoundMonotonic()
      : Judge("safety.round_monotonic", "The rounds an agent takes part in only grow.",
              {&ev::rendezvous_joined}) {}

 private:
  void judge_agent(const sim::Event& event, AgentId agent) override {
    const std::int64_t round = number(event, "round");
    const auto [known, is_new] = latest_.try_emplace(agent, round);
    const std::int64_t latest = std::exchange(known->second, round);
    kept();
    if (!is_new && round <= latest)
      broken(event,
             "{} joined round {} at {} after it had been in round {}: the keys of that round are "
             "used a second time",
             agent, round, event.at, latest);
  }

  std::map<AgentId, std::int64_t> latest_;
};

/// The workers of an agent that is stopped, or has not yet found that it is cut off from the store
/// and given up by the others, go on without it, and may meet their successors at the same
/// address. A name that leads astray leads a worker to another group's store.
class RoundIsolation final : public Judge {
 public:
  RoundIsolation()
      : Judge("safety.round_isolation", "A value read in a round was written in that round.",
              {&ev::worker_stale_read, &ev::worker_initialized}, kAsking | kTasks) {}

 private:
  void judge(const sim::Event& event) override {
    const std::string who = say("worker pid {} on node {}", event.pid, event.node);
    if (event.type == &ev::worker_stale_read) {
      broken(
          event, unaware(event),
          "{} read at {} a value of \"{}\" that another incarnation of its group had written: {}",
          who, event.at, text(event, "key"), text(event, "detail"));
      return;
    }
    const Process* const self = view().process(event.node, event.pid);
    if (self == nullptr || !self->worker || self->round == number(event, "generation"))
      return kept();
    broken(event, "{} was started for round {} but joined the process group of round {}", who,
           self->round, number(event, "generation"));
  }

  /// An agent that could not look does not know that the others have gone on without it; then it
  /// has workers to stop, which may take the stop grace. It may be the reader's agent, or that of
  /// the writers: the other members of the job.
  [[nodiscard]] const Hindrance* unaware(const sim::Event& event) const {
    const Process* const reader = view().process(event.node, event.pid);
    if (reader == nullptr || reader->owner == kNoAgent) return nullptr;
    const Timeouts& with = view().agent(reader->owner).timeouts;
    if (const auto* const name = hindrance(reader->owner, kNames, reader->started, event.at))
      return name;  // that of its own machine may be another's
    const sim::Duration looks = with.monitor + with.heartbeat + kStopGrace;
    const Job& job = view().job(view().agent(reader->owner).job);
    for (const AgentId id : job.agents) {
      const Agent& agent = view().agent(id);
      const bool has_gone_on = agent.round >= 0 && agent.round >= job.highest_completed;
      if (agent.round == kNoRound || has_gone_on) continue;
      if (agent.ended && *agent.ended < event.at - looks) continue;
      if (const auto* const found = hindrance(id, needs(), event.at - looks, event.at))
        return found;
    }
    return nullptr;
  }
};

/// What a surplus node does is judged where the harm is done: a group that is full, and of
/// which no agent is missing, restarts for a membership change although it has no seat to give.
class Bounds final : public Judge {
 public:
  Bounds()
      : Judge("safety.bounds",
              "A completed round has at least min and at most max participants, and a surplus node "
              "disturbs no full round.",
              {&ev::rendezvous_completed, &ev::group_restarting}) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_completed) {
      completed(event);
    } else if (text(event, "cause") == "membership_change") {
      restarting(event);
    }
  }

  void completed(const sim::Event& event) {
    const std::int64_t participants = number(event, "participants");
    const std::int64_t low = number(event, "min_nodes");
    const std::int64_t high = number(event, "max_nodes");
    if (participants >= low && participants <= high) return kept();
    broken(event,
           "round {} of job \"{}\" was completed on node {} with {} participants; {} to {} are "
           "allowed",
           number(event, "round"), text(event, "run_id"), event.node, participants, low, high);
  }

  void restarting(const sim::Event& event) {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const Agent& agent = view().agent(id);
    const Round* const round = view().round(agent.job, number(event, "round"));
    if (round == nullptr || round->participants < agent.max_nodes) return;
    // An agent that gives its seat back hears only later that it has done so.
    const bool one_leaves = round->leaving_members > 0;
    if (one_leaves || members_now(*round, event) < round->participants) return kept();
    broken(event,
           "{} restarts its workers at {} for a waiting node, although all {} seats of round {} "
           "are taken by living members: no agent can be admitted",
           id, event.at, round->participants, number(event, "round"));
  }

  /// Not those that are in a round of this number that the store has forgotten.
  [[nodiscard]] std::int64_t members_now(const Round& round, const sim::Event& event) const {
    return round.current_members - std::ranges::count_if(round.replaced, [&](AgentId id) {
             const Agent& agent = view().agent(id);
             return agent.member && agent.round == number(event, "round");
           });
  }
};

/// Broken when a round is completed after the rendezvous was closed in the same store.
class ClosedIsFinal final : public Judge {
 public:
  ClosedIsFinal()
      : Judge("safety.closed_is_final", "Once closed, a rendezvous never completes another round.",
              {&ev::rendezvous_closed, &ev::rendezvous_completed, &ev::store_serving,
               &wev::fault_injected},
              kNames | kContents) {}

 private:
  struct Closing {
    sim::WorldTime at{};
    std::int64_t round = 0;
    sim::NodeId node{};
  };

  void judge(const sim::Event& event) override {
    if (const auto lost = forgotten(event)) {
      std::erase_if(closed_, [&](const auto& entry) {
        return *lost == kNoJob || entry.first.first == *lost;
      });
    }
    if (event.type == &ev::store_serving || event.type == &wev::fault_injected) return;
    const JobId job = view().find_job(text(event, "run_id"));
    // A name may have led an agent to a store beside the job's: what it closes there, it closes for
    // those that are there with it.
    const std::pair where{job, server_apart(view().agent_of(event))};
    if (event.type == &ev::rendezvous_closed) {
      closed_.try_emplace(where, Closing{event.at, number(event, "round"), event.node});
      return;
    }
    const auto found = closed_.find(where);
    if (found == closed_.end()) return kept();
    const Closing& closing = found->second;
    const sim::Duration slowest =
        job == kNoJob ? sim::Duration{} : view().job(job).timeouts.read_timeout;
    // That very round may have been completed before the closing: its acknowledgement was slower, by a
    // read time-out at most.
    if (number(event, "round") <= closing.round && event.at - closing.at <= slowest) return;
    broken(event, hindrance(view().agent_of(event), needs(), closing.at, event.at),
           "round {} of job \"{}\" was completed at {} although node {} had closed the rendezvous "
           "in round {} at {}",
           number(event, "round"), text(event, "run_id"), event.at, closing.node, closing.round,
           closing.at);
  }

  /// The agent that serves the store beside the job's where this one is; kNoAgent: it is at the job's.
  [[nodiscard]] AgentId server_apart(AgentId id) const {
    const Service* const store = id == kNoAgent ? nullptr : view().store_apart(id);
    return store == nullptr ? kNoAgent : store->agent;
  }

  std::map<std::pair<JobId, AgentId>, Closing> closed_;
};

/// The job's outcome is decided when a worker group has failed with no restart left, or when all
/// agents of the round have come to the exit barrier. Broken when an agent closes the rendezvous
/// before that, because of a signal, of an error of its own, or of a wait in the exit barrier that it
/// gave up, while another agent still works or wants to.
class CloseAuthority final : public Judge {
 public:
  CloseAuthority()
      : Judge("safety.close_authority",
              "Only the job's terminal outcome closes the rendezvous, never one node's departure.",
              {&ev::rendezvous_closed, &ev::rendezvous_failed}, kItself | kNames) {}

 private:
  void judge_agent(const sim::Event& event, AgentId closer) override {
    if (event.type == &ev::rendezvous_failed) {
      found_closed_[closer] = text(event, "error") == "RendezvousClosedError";
      return;
    }
    const Agent& self = agent(closer);
    // A fault has put the error "closed" into this agent: its own closing changes nothing for it.
    if (found_closed_[closer] && excused(error_put_into(closer, event.at))) return;
    const Job& job = view().job(self.job);
    if (job.over || brings_the_outcome(self, job, event.at)) return kept();
    for (const AgentId id : job.agents) {
      const Agent& other = agent(id);
      // An agent that was told to end is not at work.
      if (id == closer || !other.at_work() || other.stage == Stage::starting) continue;
      broken(event, hindrance(closer, needs(), event.at, event.at),
             "{} closed the rendezvous of job \"{}\" at {} {}, while {} {}", closer, job.run_id,
             event.at, reason(self), id, doing(other));
      return;
    }
    kept();
  }

  /// Whether the outcome was decided, as far as this agent knows.
  static bool brings_the_outcome(const Agent& closer, const Job& job, sim::WorldTime at) {
    // It was there when all had come to the exit barrier. Its store may have forgotten that since, and
    // other agents may have begun anew there.
    if (closer.all_came && closer.barrier_left) return true;
    if (!job.decided) return false;
    const auto& [round, decided] = *job.decided;
    // It had given the job up and was closing it while others went on.
    const bool was_closing =
        closer.failed_for_good && closer.round == round && at - decided <= closer.timeouts.close;
    // It takes the seat of an agent that has decided the job and gone, and finds that out: in the
    // round that newcomers have filled already, or in the next one, also when all agents have been
    // started anew beside a store that has kept the outcome.
    const bool takes_a_seat = closer.stage == Stage::joining &&
                              ((round == job.highest_completed && closer.started > decided) ||
                               round + 1 == job.highest_completed);
    return was_closing || takes_a_seat;
  }

  [[nodiscard]] std::string reason(const Agent& closer) const {
    if (closer.signalled) return say("because it had been told to end at {}", *closer.signalled);
    if (closer.barrier_left) return "after it had left the exit barrier without the others";
    return "because of an error of its own";
  }
  [[nodiscard]] std::string doing(const Agent& agent) const {
    switch (agent.stage) {
      case Stage::joining: return agent.spare ? "waited as a spare" : "wanted to join";
      case Stage::restarting: return "was restarting its workers";
      default: return say("was a healthy member of round {}", agent.round);
    }
  }

  std::map<AgentId, bool> found_closed_;  ///< by the latest error of its rendezvous
};

/// Broken when a node is given up as dead that lives and could send heartbeats, or when any node is
/// given up before its keep-alive threshold is over.
class Eviction final : public Judge {
 public:
  Eviction()
      : Judge("safety.eviction",
              "Only a node that is gone, or cannot be heard, is given up as dead.",
              {&ev::rendezvous_evicted, &ev::rendezvous_write}, kAsking | kTasks) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId judge = view().agent_of(event);
    if (judge == kNoAgent) return;
    if (event.type == &ev::rendezvous_write) {
      if (is_heartbeat(event)) beat_[judge] = event.at;
      return;
    }
    const AgentId id = evicted(event, view().agent(judge).job);
    // A process may have begun another job meanwhile, as another agent.
    if (id == kNoAgent || view().agent(id).job != view().agent(judge).job) return kept();
    const Agent& agent = view().agent(id);
    // Once for the heartbeats that the hindrance stopped, once until another agent finds them missing.
    const sim::WorldTime since = event.at - 2 * agent.timeouts.keep_alive;
    // An agent that waits in the exit barrier or is about to end does not need its seat.
    if (!agent.at_work() || agent.stage == Stage::starting) return judge_time(event, id, judge);
    // By this very write the agent proves that it lives: nothing excuses it.
    if (id == judge) {
      broken(event, "{} gave itself up as dead at {}: its last heartbeat was {} old", id, event.at,
             sim::Duration(number(event, "heartbeat_age")));
      return;
    }
    if (excused(hindrance(id, needs(), since, event.at))) return;
    // The agent that gives the node up must see the time and the store as they are, too.
    if (excused(hindrance(judge, needs(), since, event.at))) return;
    // It met a second error while it left because of the first one: it may serve a store yet, but
    // without its seat.
    if (agent.errors > 1 && excused(error_put_into(id, event.at))) return;
    broken(event,
           "{} was given up as dead at {} by node {}, to which its last heartbeat was {} old, "
           "although it lived and no fault had hindered it in the {} before",
           id, event.at, event.node, sim::Duration(number(event, "heartbeat_age")),
           event.at - std::max(since, sim::WorldTime()));
  }

  void judge_time(const sim::Event& event, AgentId id, AgentId judge) {
    const auto beat = beat_.find(id);
    const sim::Duration threshold = agent(id).timeouts.keep_alive;
    // Clocks drift by a tenth at most, and a heartbeat is told up to an answer later than it came.
    const sim::Duration least = threshold * 9 / 10 - kAnswer;
    if (beat == beat_.end() || event.at - beat->second >= least) return kept();
    const sim::WorldTime since = event.at - 2 * threshold;
    if (excused(hindrance(id, needs(), since, event.at))) return;
    if (excused(hindrance(judge, needs(), since, event.at))) return;
    broken(
        event,
        "{} was given up as dead at {} by node {}, {} after its latest heartbeat: its keep-alive "
        "threshold is {}",
        id, event.at, event.node, event.at - beat->second, threshold);
  }

  [[nodiscard]] AgentId evicted(const sim::Event& event, JobId job) const {
    const std::string_view descriptor = text(event, "descriptor");
    const AgentId described = view().agent_described(descriptor);
    if (described != kNoAgent) return described;
    // The legacy rendezvous frees a version when the key of a member has expired, and names that
    // key. A member that is on its way to the next version no longer renews it.
    const AgentId member = view().member_at(job, number(event, "round"), descriptor);
    if (member == kNoAgent) return kNoAgent;
    const Stage stage = view().agent(member).stage;
    return stage == Stage::joined || stage == Stage::running ? member : kNoAgent;
  }

  std::map<AgentId, sim::WorldTime> beat_;  ///< when each has last
};

}  // namespace

void add_rounds(InvariantRegistry& registry) {
  registry.add<RoundMonotonic, RoundIsolation, Bounds, ClosedIsFinal, Eviction, CloseAuthority>();
}

}  // namespace hooke::properties
