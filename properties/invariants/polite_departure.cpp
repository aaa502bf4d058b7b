// What a member costs its job that is told to go, and goes.
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "sim/port/process_host.h"

namespace hooke::properties {
namespace {

/// The end of a process that could do nothing about it.
constexpr std::int64_t kKilled = -static_cast<std::int64_t>(sim::Signal::kill);

/// A member has left politely when it was told to end, no worker of it had failed before, and it
/// ended as signalled. Where a round has lost nothing else, its agents neither give the job up nor
/// restart as for a loss; where no member was told to end, none restarts as for a departure, nor
/// for one that was on the lists until it was given up as dead. An agent that was told to go, and
/// that SIGKILL did not end before it could, has no seat in a round that completes later, nor until
/// it is given up as dead. An agent that was given up as dead (PyTorch's agents take themselves off
/// no list) counts as lost.
class PoliteDeparture final : public Judge {
 public:
  PoliteDeparture()
      : Judge("safety.polite_departure",
              "A member that is told to go and goes costs no restart, and leaves no ghost.",
              {&wev::process_ended, &ev::rendezvous_evicted, &ev::rendezvous_added,
               &ev::rendezvous_left, &ev::group_restarting, &ev::rendezvous_completed,
               &ev::job_given_up, &ev::heartbeat_lost, &ev::timer_killed},
              kAsking | kTasks) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (event.type == &wev::process_ended) {
      if (const Process* const worker = failed_worker(event)) failed_.insert(worker->owner);
      if (id != kNoAgent && number(event, "status") == kKilled) killed_.insert(id);
    } else if (event.type == &ev::rendezvous_evicted) {
      evicted(event, view().agent_described(text(event, "descriptor")));
    } else if (id == kNoAgent) {
      return;
    } else if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") == "participants") seats_[id] = number(event, "round");
    } else if (event.type == &ev::rendezvous_left) {
      seats_.erase(id);
    } else if (event.type == &ev::rendezvous_completed) {
      completed(event, view().agent(id).job);
    } else if (event.type == &ev::job_given_up) {
      restarts(event, id, "member_lost", "gives its job up");
      failed_.insert(id);  // what it is told afterwards changes nothing
    } else if (event.type == &ev::heartbeat_lost || event.type == &ev::timer_killed) {
      failed_.insert(id);
    } else {
      restarts(event, id, text(event, "cause"), "restarts as for a loss");
    }
  }

  void restarts(const sim::Event& event, AgentId id, std::string_view cause, const char* does) {
    const Agent& self = view().agent(id);
    const Round* const round = view().round(self.job, number(event, "round"));
    if (round == nullptr || (cause != "member_lost" && cause != "member_left")) return;
    bool all_polite = !failed_.contains(id);
    AgentId left = kNoAgent, ghost = kNoAgent;
    for (const AgentId each : round->members) {
      const Agent& member = view().agent(each);
      const bool failed = failed_.contains(each);
      const bool polite =
          member.signalled && !failed && (member.alive() || member.outcome == "signalled");
      if (member.signalled) left = each;
      if (polite && !member.alive() && given_up_.contains(each)) ghost = each;
      all_polite = all_polite && !given_up_.contains(each) && !failed && (polite || member.alive());
    }
    if (cause == "member_left" && ghost != kNoAgent) return left_a_ghost(event, id, ghost);
    const bool wrong = cause == "member_left" ? left == kNoAgent : left != kNoAgent && all_polite;
    if (!wrong) return kept();
    const auto* const by =
        hindrance_of_any(self.job, needs(), round->completed.value_or(sim::WorldTime()), event.at);
    if (by != nullptr) return excused(*by);
    if (cause == "member_left")
      return broken(event,
                    "{} restarts at {} as for a member that was told to go, and "
                    "none of its round was",
                    id, event.at);
    broken(event,
           "{} {} at {}, and its round has lost only {}, which was told to go "
           "at {}",
           id, does, event.at, left, *view().agent(left).signalled);
  }

  void left_a_ghost(const sim::Event& event, AgentId id, AgentId ghost) {
    const sim::WorldTime ended = *agent(ghost).ended;
    broken(event, hindrance(ghost, needs(), *agent(ghost).signalled, ended),
           "{} restarts only at {} for the departure of {}, which ended at {} and was on the lists "
           "until it was given up as dead",
           id, event.at, ghost, ended);
  }

  void completed(const sim::Event& event, JobId job) {
    for (const auto& [id, round] : std::exchange(seats_, {})) {
      const Agent& agent = view().agent(id);
      if (agent.job != job || round != number(event, "round")) {
        seats_[id] = round;
      } else if (has_gone_politely(id, event.at)) {
        const std::string witness = say(
            "round {} completes at {} with a seat for {}, which was told to go at {} and ended at "
            "{}",
            round, event.at, id, *agent.signalled, *agent.ended);
        broken(event, witness, hindrance(id, needs(), agent.started, *agent.ended));
      }
    }
  }

  /// Of a round that has not completed, an agent that has no seat any more.
  void evicted(const sim::Event& event, AgentId id) {
    if (id == kNoAgent) return;
    given_up_.insert(id);
    const auto seat = seats_.extract(id);
    const Agent& agent = view().agent(id);
    if (!seat || !has_gone_politely(id, event.at)) return;
    const std::string witness =
        say("{}, which was told to go at {} and ended at {}, had its seat in round {} until {}, "
            "when it was given up as dead",
            id, *agent.signalled, *agent.ended, seat.mapped(), event.at);
    broken(event, witness, hindrance(id, needs(), agent.started, *agent.ended));
  }

  /// Not one that was killed, with its machine perhaps, before it could act.
  [[nodiscard]] bool has_gone_politely(AgentId id, sim::WorldTime now) const {
    const Agent& agent = view().agent(id);
    return agent.signalled && agent.ended && *agent.ended < now && !killed_.contains(id);
  }

  std::map<AgentId, std::int64_t> seats_;  ///< in rounds that are not complete
  std::set<AgentId> given_up_;             ///< as dead
  std::set<AgentId> killed_;               ///< by SIGKILL
  std::set<AgentId> failed_;  ///< a worker of theirs has failed by itself, fallen silent, or been
                              ///< ended by a timer; or they have given their job up
};

}  // namespace

void add_polite_departure(InvariantRegistry& registry) {
  registry.add<PoliteDeparture>();
}

}  // namespace hooke::properties
