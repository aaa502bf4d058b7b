// How often an agent may ask its store: a sum over what it did in a window of time. The costs of
// each backend stand in one table; all else follows from the agent's settings and its stages.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

using namespace std::chrono_literals;

/// What the world counts together (process.asked).
constexpr sim::Duration kWindow = 10s;
/// The costs below are what agents of the costliest variant need by design. Lost compare-and-sets
/// and clocks that drift come on top, and stay within this factor.
constexpr std::int64_t kRoom = 3;
/// An agent tells of a change of stage shortly before or after what it asks for it.
constexpr sim::Duration kTold = 1s;
/// A node is dead after so many intervals (PyTorch: dynamic_rendezvous.py, keep_alive_max_attempt).
/// Agents tell of the product alone; up to three times as many attempts are within the room.
constexpr std::int64_t kKeepAliveAttempts = 3;
/// Whatever fails is asked for again after this at least: hardened etcd clients wait so long for a
/// leader, and no other pauses for less.
constexpr sim::Duration kRetryPause = 50ms;
/// A hardened keep-alive that has failed is tried again after a tenth of its interval, each time
/// with a second attempt to connect.
constexpr std::int64_t kKeepAliveRetries = 20;
/// What an agent needs for its requests to be answered.
constexpr Needs kAnswers = kPath | kStore | kNames | kContents;

/// Requests, which are connections and messages, of an agent that goes about its work.
struct Costs {
  std::string_view backend;
  sim::Duration cache;      ///< what was read no longer ago is not read again
  std::int64_t look;        ///< the monitor looks at the others
  std::int64_t keep_alive;  ///< one heartbeat
  std::int64_t step;        ///< a change of stage
  std::int64_t peer;        ///< a change of stage, for each agent that changes at the same time
  /// For each second in which the agent connects or ends, joins, forms a group, is at work, or
  /// waits in the exit barrier.
  std::int64_t starting, joining, joined, running, barrier;
  bool waits_by_watch;  ///< an agent that joins is woken by each step of the others
};

/// A get of the torch store is two messages, a wait and a get; a watch of etcd v2 a connection, a
/// message, and the read behind it. The static backend's first agent counts the others every 10 ms
/// (PyTorch: TCPStore.cpp, waitForWorkers).
constexpr std::array kCosts{
    Costs{"c10d", 1s, 2, 3, 6, 1, 4, 2, 5, 0, 12, false},
    Costs{"etcd-v2", 1s, 2, 3, 6, 1, 4, 2, 5, 0, 12, false},
    Costs{"etcd-v3", 1s, 2, 3, 6, 1, 4, 2, 5, 0, 12, false},
    Costs{"etcd", 0s, 2, 1, 8, 2, 4, 5, 5, 2, 12, true},
    Costs{"static", 1s, 2, 0, 6, 1, 100, 2, 5, 0, 6, false},
};

/// nullptr: nothing is known of this backend, and nothing is judged.
const Costs* costs_of(std::string_view backend) {
  const auto* const found =
      std::ranges::find_if(kCosts, [&](const Costs& costs) { return costs.backend == backend; });
  return found == kCosts.end() ? nullptr : found;
}

std::int64_t per_second(const Costs& costs, Stage stage) {
  switch (stage) {
    case Stage::joining: return costs.joining;
    case Stage::joined: return costs.joined;
    case Stage::running: return costs.running;
    case Stage::restarting: return 0;
    case Stage::barrier: return costs.barrier;
    case Stage::starting:
    case Stage::stopping:
    case Stage::finished: return costs.starting;
  }
  return 0;
}

/// A change of stage.
struct Step {
  sim::WorldTime at{};
  Stage stage{};
};
/// What is known of an agent.
struct PastLooks {
  const Costs* costs = nullptr;
  bool meets_again = false;  ///< it has stopped its workers, and asks for the others' ranks
  bool connected = false;    ///< a store has heard it, as late as that may have come
  std::vector<Step> steps;   ///< in order; those before the present window are dropped
};
struct Window {
  sim::WorldTime since{};
  sim::WorldTime to{};
  [[nodiscard]] sim::Duration length() const { return to - since; }
};

/// Requests beyond what has been heard of so far; `step`: what one more change of stage explains.
struct Unexplained {
  AgentId id = kNoAgent;
  sim::WorldTime at{};
  sim::EventId event{};
  Window window{};
  std::int64_t requests = 0, most = 0, step = 0;
};

/// A static agent tells of no joining: when its workers are stopped it meets the others again,
/// and asks until rank 0 has come.
Stage stage_of(const sim::Event& event, const Agent& agent, PastLooks& past) {
  const bool restarts = agent.stage == Stage::restarting && agent.round < 0;
  const bool stopped = event.type == &ev::group_state && text(event, "state") == "STOPPED";
  past.meets_again = restarts && (past.meets_again || stopped);
  return past.meets_again ? Stage::joining : agent.stage;
}

/// A worker that is started again alone is no change of stage, but its agent takes a restart too.
bool is_step(const sim::Event& event, Stage stage, const std::vector<Step>& before) {
  if (before.empty() || before.back().stage != stage) return true;
  return event.type == &ev::worker_restarting && before.back().at != event.at;
}

/// Drops the stages that were over by `before`.
void forget(std::vector<Step>& steps, sim::WorldTime before) {
  const auto later =
      std::ranges::find_if(steps, [&](const Step& step) { return step.at >= before; });
  if (later - steps.begin() > 1) steps.erase(steps.begin(), later - 1);
}

/// What an agent's settings, what it did, and what befell its job explain.
class Explanations {
 public:
  void see(const sim::Event& event, AgentId id, const JobView& view) {
    const JobId job = view.agent(id).job;
    if (event.type == &ev::agent_started) {
      std::int64_t& most = most_living_[job];
      most = std::max(most, view.job(job).living);
    }
    if (event.type == &ev::rendezvous_evicted) fell_apart_[job].push_back(event.at);
    if (event.type == &ev::rendezvous_joining) listed_.erase(id);
    if (event.type == &ev::rendezvous_added && text(event, "list") == "participants") {
      const std::int64_t round = number(event, "round");
      if (listed_.try_emplace(id, round).first->second != round)
        fell_apart_[job].push_back(event.at);
      listed_[id] = round;
    }
    if (event.type == &ev::rendezvous_completed) completed_[job] = event.at;
    if (event.type == &ev::exit_barrier_entered || event.type == &ev::rendezvous_closed)
      one_is_done_.try_emplace(job, event.at);
  }
  /// An agent of the job changes its stage.
  void stepped(JobId job, sim::WorldTime at) {
    std::deque<sim::WorldTime>& all = steps_[job];
    while (!all.empty() && all.front() < at - 2 * kWindow) all.pop_front();
    all.push_back(at);
  }
  /// Requests of the agent in the window, in which it went through these steps.
  [[nodiscard]] std::int64_t explained(AgentId id, const Costs& costs,
                                       const std::vector<Step>& steps, const Window& window,
                                       const JobView& view) const {
    const Agent& agent = view.agent(id);
    const sim::Duration interval =
        std::max<sim::Duration>(agent.timeouts.keep_alive / kKeepAliveAttempts, 1ms);
    const auto done = one_is_done_.find(agent.job);
    const bool reads_alone = done == one_is_done_.end() || done->second > window.to;
    const sim::Duration between = std::max<sim::Duration>(
        {agent.timeouts.monitor, reads_alone ? costs.cache : sim::Duration(), 1ms});
    const std::int64_t peers = peers_in(agent.job);
    const std::int64_t look = costs.look + (reads_alone ? 0 : peers);
    std::int64_t sum = look + costs.keep_alive * (1 + window.length() / interval);
    for (std::size_t i = 0; i < steps.size() && steps[i].at <= window.to + kTold; ++i) {
      if (steps[i].at >= window.since - kTold) sum += of_a_step(agent.job, costs);
      const sim::WorldTime from = std::max(steps[i].at, window.since);
      const sim::WorldTime to =
          i + 1 < steps.size() ? std::min(steps[i + 1].at, window.to) : window.to;
      if (to <= from) continue;
      sum += per_second(costs, steps[i].stage) * (to - from) / 1s;
      if (steps[i].stage == Stage::running) sum += look * ((to - from) / between);
      if (steps[i].stage == Stage::joining && costs.waits_by_watch)
        sum += costs.peer * steps_of_others(agent.job, from, to);
    }
    if (fell_apart(agent.job, steps, window) || was_cut_short(agent.job, steps, window))
      sum += of_a_step(agent.job, costs);
    const bool hindered =
        view.ledger().find(view.claimant(id), kAnswers, window.since, window.to) != nullptr;
    if (!hindered) return sum;
    return sum + window.length() / kRetryPause + kKeepAliveRetries * window.length() / interval;
  }
  /// Requests for a change of stage.
  [[nodiscard]] std::int64_t of_a_step(JobId job, const Costs& costs) const {
    return costs.step + costs.peer * peers_in(job);
  }

 private:
  [[nodiscard]] std::int64_t peers_in(JobId job) const {
    const auto living = most_living_.find(job);
    return living == most_living_.end() ? 1 : living->second;
  }
  /// What they write for a step may come, and wake others, after they have told of it.
  [[nodiscard]] std::int64_t steps_of_others(JobId job, sim::WorldTime from,
                                             sim::WorldTime to) const {
    const auto found = steps_.find(job);
    if (found == steps_.end()) return 0;
    const auto& all = found->second;  // in order
    return std::ranges::upper_bound(all, to) - std::ranges::lower_bound(all, from - kTold);
  }

  /// In the window a round fell apart whose end the agent waited for. Again and again explains
  /// nothing more.
  [[nodiscard]] bool fell_apart(JobId job, const std::vector<Step>& steps,
                                const Window& window) const {
    const auto found = fell_apart_.find(job);
    if (found == fell_apart_.end()) return false;
    return std::ranges::any_of(found->second, [&](sim::WorldTime at) {
      if (at < window.since - kTold || at > window.to) return false;
      const auto next = std::ranges::find_if(steps, [&](const Step& step) { return step.at > at; });
      return next != steps.begin() && std::prev(next)->stage == Stage::joining;
    });
  }

  /// The round for which the agent waited was complete at the end, and the agent, which had acted
  /// upon that, never came to tell: it ended first.
  [[nodiscard]] bool was_cut_short(JobId job, const std::vector<Step>& steps,
                                   const Window& window) const {
    const auto completed = completed_.find(job);
    return completed != completed_.end() && !steps.empty() &&
           steps.back().stage == Stage::joining &&
           completed->second >= std::max(steps.back().at, window.to - kTold);
  }

  std::map<JobId, std::deque<sim::WorldTime>> steps_;  ///< of all agents, the latest
  /// When a member of a round was told to be dead, or one that waited for its end entered the next.
  std::map<JobId, std::vector<sim::WorldTime>> fell_apart_;
  std::map<AgentId, std::int64_t> listed_;     ///< in which round, since it began to join
  std::map<JobId, sim::WorldTime> completed_;  ///< when a round last was
  std::map<JobId, std::int64_t> most_living_;  ///< agents of a job at one time
  /// Since when a member is done, or the rendezvous closed: each look of a hardened agent asks what
  /// became of each of the others then, and no cache answers that.
  std::map<JobId, sim::WorldTime> one_is_done_;
};

/// No fault excuses: one that costs retries widens the bound, because each retry has a pause. One
/// that ends an agent while it joins may do so on the way into a round of which the others tell only
/// afterwards that it is complete.
class Polling final : public Judge {
 public:
  Polling()
      : Judge("safety.polling", "An agent asks its store no more often than its settings explain.",
              {&wev::process_asked, &wev::process_ended, &ev::agent_started, &ev::rendezvous_closed,
               &ev::rendezvous_joining, &ev::rendezvous_completed, &ev::rendezvous_joined,
               &ev::rendezvous_failed, &ev::rendezvous_evicted, &ev::rendezvous_added,
               &ev::ranks_assigned, &ev::group_state, &ev::group_restarting, &ev::worker_restarting,
               &ev::job_given_up, &ev::exit_barrier_entered, &ev::exit_barrier_left,
               &ev::agent_finished}) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &wev::process_ended) {
      past_.erase(process_of(event));
      return;
    }
    const Agent& agent = view().agent(id);
    settle(event.at, event.type == &ev::rendezvous_completed ? agent.job : kNoJob);
    PastLooks& past = past_[process_of(event)];
    if (event.type == &ev::agent_started) past.costs = costs_of(text(event, "backend"));
    explanations_.see(event, id, view());
    const Stage stage = stage_of(event, agent, past);
    if (is_step(event, stage, past.steps)) {
      past.steps.push_back({event.at, stage});
      explanations_.stepped(agent.job, event.at);
    }
    if (event.type == &wev::process_asked) asked(event, id, past, stage);
  }

  void asked(const sim::Event& event, AgentId id, PastLooks& past, Stage stage) {
    const sim::WorldTime since{sim::Duration(number(event, "since"))};
    const Window window{since, std::min(since + kWindow, event.at)};
    if (past.costs != nullptr) {
      const std::int64_t messages = number(event, "messages");
      const std::int64_t requests = number(event, "connects") + messages;
      const bool meets_its_store = messages > 0 && !std::exchange(past.connected, true);
      const std::int64_t connecting =
          meets_its_store && stage == Stage::starting ? past.costs->step : 0;
      const std::int64_t explained =
          explanations_.explained(id, *past.costs, past.steps, window, view());
      const std::int64_t most = kRoom * (explained + connecting);
      if (requests <= most) {
        kept();
      } else {
        const std::int64_t step = explanations_.of_a_step(agent(id).job, *past.costs);
        const Unexplained sent{id, event.at, event.id, window, requests, most, kRoom * step};
        stage == Stage::joining ? unexplained_.push_back(sent) : tell(sent);
      }
    }
    forget(past.steps, window.to - kTold);
  }

  void at_end(const RunFacts&) override { settle(sim::WorldTime::max()); }

  /// Judges what more can no longer be heard of, and, when a round of a job is complete, what an
  /// agent sent that has ended on its way into it.
  void settle(sim::WorldTime now, JobId completes = kNoJob) {
    std::erase_if(unexplained_, [&](const Unexplained& each) {
      const Agent& of = agent(each.id);
      const bool over = now > each.window.to + kTold;
      const bool on_its_way = !over && of.job == completes && of.ended == each.at;
      if (!over && !on_its_way) return false;
      on_its_way&& each.requests <= each.most + each.step ? kept() : tell(each);
      return true;
    });
  }

  void tell(const Unexplained& sent) {
    broken(sent.at, sent.event,
           say("{} sent {} requests from {} to {}; its settings and what it did explain {} at most",
               sent.id, sent.requests, sent.window.since, sent.window.to, sent.most));
  }

  std::map<ProcessKey, PastLooks> past_;
  std::vector<Unexplained> unexplained_;
  Explanations explanations_;
};

}  // namespace

void add_polling(InvariantRegistry& registry) {
  registry.add<Polling>();
}

}  // namespace hooke::properties
