// What a departure costs a job: no restart for a member that is told to go.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "sim/port/process_host.h"

namespace hooke::properties {
namespace {

/// The end of a process that could do nothing about it.
constexpr std::int64_t kKilled = -static_cast<std::int64_t>(sim::Signal::kill);

/// What became of the agents of a round.
struct RoundLoss {
  bool all_polite;  ///< those that are gone were told to go, and nothing else has failed
  AgentId left;     ///< one that was told to go
  AgentId ghost;    ///< one that was on the lists until it was given up as dead
};

/// What agents and their workers went through.
struct Departures {
  struct Seat {
    std::int64_t round;
    std::string list;
  };
  std::map<AgentId, Seat> seats;  ///< in rounds that are not complete, or beside one that is
  /// As dead, and in no round that was completed since; when.
  std::map<AgentId, sim::WorldTime> given_up;
  std::set<AgentId> killed;  ///< by SIGKILL
  std::set<JobId> closed;    ///< and no round has been completed since
  std::set<AgentId> failed;  ///< a worker of theirs has failed by itself, fallen silent, or been
                             ///< ended by a timer; or they have given their job up. So has one
                             ///< into which a fault has put an error

  void see(const sim::Event& event, AgentId id, JobId job) {
    if (event.type == &wev::process_ended) {
      if (number(event, "status") == kKilled) killed.insert(id);
    } else if (event.type == &ev::rendezvous_added) {
      seats.insert_or_assign(id, Seat{number(event, "round"), std::string(text(event, "list"))});
    } else if (event.type == &ev::rendezvous_left) {
      seats.erase(id);
    } else if (event.type == &ev::rendezvous_closed) {
      closed.insert(job);
    } else if (event.type != &ev::group_restarting) {  // what it is told afterwards changes nothing
      failed.insert(id);
    }
  }

  /// Of the round of agent `id`, which restarts or ends its job.
  [[nodiscard]] RoundLoss loss_of(const Round& round, AgentId id, const JobView& view) const {
    bool all_polite = !failed.contains(id);
    AgentId left = kNoAgent, ghost = kNoAgent;
    for (const AgentId each : round.members) {
      const Agent& member = view.agent(each);
      const bool has_failed = failed.contains(each) || member.errors > 0;
      // It was told to end, no worker of it had failed before, and it ended as signalled.
      const bool polite =
          member.signalled && !has_failed && (member.alive() || member.outcome == "signalled");
      if (member.signalled) left = each;
      const auto lost = given_up.find(each);
      // PyTorch's agents take themselves off no list, and are lost when they are given up as dead.
      const bool is_lost = lost != given_up.end();
      if (polite && is_lost && member.ended && *member.ended <= lost->second) ghost = each;
      all_polite = all_polite && !is_lost && !has_failed && (polite || member.alive());
    }
    return {all_polite, left, ghost};
  }

  /// Whether the agent has ended, and could and should have taken itself off the lists before.
  [[nodiscard]] bool has_gone_politely(AgentId id, sim::WorldTime now, const JobView& view) const {
    const Agent& agent = view.agent(id);
    // SIGKILL, perhaps with its machine, or an error did not end it before.
    const bool could_act = !killed.contains(id) && agent.errors == 0;
    // It was told to go, or gave up joining.
    const bool wanted_to = agent.signalled || !agent.outcome.empty();
    return wanted_to && agent.ended && *agent.ended < now && could_act;
  }
  /// The agent has a seat in a round that is complete now: whether it has gone politely. That it was
  /// given up as dead before counts no more.
  [[nodiscard]] bool seats_one_that_has_gone(AgentId id, sim::WorldTime now, const JobView& view) {
    given_up.erase(id);
    return has_gone_politely(id, now, view);
  }
  /// Whether it has gone politely, and was on that list still. In a rendezvous that is closed that
  /// disturbs no agent, except the seat of one that was told to go.
  [[nodiscard]] bool is_ghost(AgentId id, std::string_view list, sim::WorldTime now,
                              const JobView& view) const {
    const bool told_from_a_seat = view.agent(id).signalled && list == "participants";
    return has_gone_politely(id, now, view) &&
           (told_from_a_seat || !closed.contains(view.agent(id).job));
  }
};

/// What a list of the rendezvous has a node for, before the round's number.
const char* place_in(std::string_view list) {
  if (list == "participants") return "a participant of";
  return list == "wait_list" ? "waiting beside" : "a spare of";
}

std::string why_it_went(const Agent& agent) {
  if (agent.signalled) return "was told to go at " + seconds_text(*agent.signalled);
  return "gave up joining";
}

/// Broken in four cases: agents of a round that has lost only polite members give their job up, or
/// restart as for a loss; they restart as for a polite departure, and there was none, or its member
/// was on the lists until it was given up as dead; a round completes with a seat for an agent that has
/// gone politely; or such an agent is on a list until it is given up as dead.
class PoliteDeparture final : public Judge {
 public:
  PoliteDeparture()
      : Judge("safety.polite_departure",
              "A member that is told to end, and does, costs no restart and keeps no seat.",
              {&wev::process_ended, &ev::rendezvous_evicted, &ev::rendezvous_added,
               &ev::rendezvous_left, &ev::group_restarting, &ev::rendezvous_completed,
               &ev::job_given_up, &ev::heartbeat_lost, &ev::timer_killed, &ev::rendezvous_closed},
              kAsking | kTasks) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (const Process* const worker = failed_worker(event)) past_.failed.insert(worker->owner);
    if (event.type == &ev::rendezvous_evicted)
      return evicted(event, view().agent_described(text(event, "descriptor")));
    if (id == kNoAgent) return;
    if (event.type == &ev::rendezvous_completed) return completed(event, agent(id).job);
    if (event.type == &ev::job_given_up) restarts(event, id, "member_lost", "gives its job up");
    if (event.type == &ev::group_restarting)
      restarts(event, id, text(event, "cause"), "restarts as for a loss");
    past_.see(event, id, agent(id).job);
  }

  void restarts(const sim::Event& event, AgentId id, std::string_view cause, const char* does) {
    const JobId job = agent(id).job;
    const Round* const round = view().round(job, number(event, "round"));
    if (round == nullptr || (cause != "member_lost" && cause != "member_left")) return;
    const auto [all_polite, left, ghost] = past_.loss_of(*round, id, view());
    if (cause == "member_left" && ghost != kNoAgent) return left_a_ghost(event, id, ghost);
    const bool wrong = cause == "member_left" ? left == kNoAgent : left != kNoAgent && all_polite;
    if (!wrong) return kept();
    const sim::WorldTime since = round->completed.value_or(sim::WorldTime());
    if (excused(hindrance_of_any(job, needs(), since, event.at))) return;
    if (cause == "member_left")
      return broken(
          event, "{} restarts at {} as for a member that was told to go, and none of its round was",
          id, event.at);
    broken(event, "{} {} at {}, and its round has lost only {}, which was told to go at {}", id,
           does, event.at, left, *agent(left).signalled);
  }

  void left_a_ghost(const sim::Event& event, AgentId id, AgentId ghost) {
    const sim::WorldTime ended = *agent(ghost).ended;
    broken(event, hindrance(ghost, needs(), *agent(ghost).signalled, ended),
           "{} restarts only at {} for the departure of {}, which ended at {} and was on the lists "
           "until it was given up as dead",
           id, event.at, ghost, ended);
  }

  void completed(const sim::Event& event, JobId job) {
    past_.closed.erase(job);
    for (const auto& [id, seat] : std::exchange(past_.seats, {})) {
      const Agent& agent = view().agent(id);
      const bool seated = seat.list == "participants" && seat.round == number(event, "round");
      if (agent.job != job || !seated) {
        past_.seats.emplace(id, seat);
      } else if (past_.seats_one_that_has_gone(id, event.at, view())) {
        broken(event, hindrance(id, needs(), agent.started, *agent.ended),
               "round {} completes at {} with a seat for {}, which {} and ended at {}", seat.round,
               event.at, id, why_it_went(agent), *agent.ended);
      }
    }
  }

  /// Of a round that has not completed, an agent that has no seat any more.
  void evicted(const sim::Event& event, AgentId id) {
    if (id == kNoAgent) return;
    past_.given_up.insert_or_assign(id, event.at);
    const auto seat = past_.seats.extract(id);
    const Agent& agent = view().agent(id);
    if (!seat || !past_.is_ghost(id, seat.mapped().list, event.at, view())) return;
    broken(event, hindrance(id, needs(), agent.started, *agent.ended),
           "{}, which {} and ended at {}, was {} round {} until {}, when it was given up as dead",
           id, why_it_went(agent), *agent.ended, place_in(seat.mapped().list), seat.mapped().round,
           event.at);
  }

  Departures past_;
};

}  // namespace

void add_departures(InvariantRegistry& registry) {
  registry.add<PoliteDeparture>();
}

}  // namespace hooke::properties
