// Each file is one agent's. Its clocks are set beside the others', the processes that it implies are
// added, and TraceMerger tells all of it in order.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "model/observe/trace_events.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/agent_trace.h"
#include "scenarios/recorded/clock_alignment.h"
#include "scenarios/recorded/record_traces.h"
#include "scenarios/recorded/recorded_events.h"
#include "scenarios/recorded/trace_merger.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
namespace wev = world::events;

constexpr std::int64_t kKilled = -static_cast<std::int64_t>(sim::Signal::kill);
/// Corrections below this are not worth a sentence.
constexpr sim::Duration kToldCorrection = std::chrono::milliseconds(10);
/// A clock that needed more is not known to the second: the correction is the least that is possible.
constexpr sim::Duration kSteadyClock = std::chrono::seconds(1);
/// Between what two agents on one machine read of the difference of its two clocks.
constexpr sim::Duration kOneClock = std::chrono::milliseconds(1);

/// An agent's part in rounds, for the alignment of the clocks.
void add_round_times(const AgentTrace& agent, std::size_t index, std::vector<RoundTimes>& out) {
  sim::WorldTime wanted{};
  std::map<std::int64_t, sim::WorldTime> completed;
  for (const RawEvent& event : agent.events) {
    if (event.type == &ev::rendezvous_joining) {
      wanted = event.at;
    } else if (event.type == &ev::rendezvous_completed) {
      completed[event.number("round")] = event.at;
    } else if (event.type == &ev::rendezvous_joined) {
      const std::int64_t round = event.number("round");
      const auto own = completed.find(round);
      out.push_back({index, event.text("run_id"), round, wanted, event.at,
                     own == completed.end() ? sim::WorldTime() : own->second});
    }
  }
}

std::string milliseconds(sim::Duration span) {
  return std::to_string(span / std::chrono::milliseconds(1)) + " ms";
}

class AgentTraces final : public RecordedEvents {
 public:
  explicit AgentTraces(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) read(path);
    use_record();
    refuse_twins();
    evidence_.extent = Extent::one_clock;
    align();
    complete_rounds(agents_);
    note_logs();
    for (const AgentTrace& agent : agents_) {
      if (std::find(names_.begin(), names_.end(), agent.node) == names_.end()) {
        names_.push_back(agent.node);
      }
      last_ = std::max(last_, agent.last());
    }
    note_missing_members();
    note_unknown_writers();
  }

  void play(const std::vector<kernel::TraceSink*>& sinks) override;

 private:
  void read(const std::string& path);
  void use_record();
  void refuse_twins() const;
  void align();
  void set_right(AgentTrace& agent, sim::Duration behind);
  void at_most(Extent extent) { evidence_.extent = std::min(evidence_.extent, extent); }
  void note_logs();
  void note_missing_members();
  void note_unknown_writers();
  void note_seatless();
  void note(AgentTrace& agent, TraceMerger& merger);
  void note_end(const AgentTrace& agent, sim::NodeId node, TraceMerger& merger);
  void note_silent_end(const AgentTrace& agent, sim::NodeId node, TraceMerger& merger);
  static void kill(const AgentTrace& agent, sim::WorldTime at, sim::NodeId node,
                   TraceMerger& merger);

  struct Eviction {
    std::string descriptor;
    sim::WorldTime at{};
  };
  std::vector<AgentTrace> agents_;
  std::vector<Eviction> evictions_;
  std::optional<StateRecord> record_;
  sim::WorldTime last_{};  ///< of all events
};

void AgentTraces::read(const std::string& path) {
  if (is_state_record(path)) {
    if (record_) {
      throw ScenarioError(path + ": line 1: expected one record of the job, got one besides " +
                          record_->path);
    }
    record_ = read_state_record(path);
  } else {
    agents_.push_back(is_trace(path) ? read_agent_trace(path, assumptions_)
                                     : read_torchrun_log(path));
  }
}

void AgentTraces::use_record() {
  if (!record_) return;
  set_logs_by(*record_, agents_);
  for (AgentTrace& agent : agents_) add_heartbeats(*record_, agent);
  std::vector<AgentTrace> others = agents_in(*record_, agents_);
  if (agents_.empty() && others.empty()) {
    throw ScenarioError(record_->path + ": line 1: expected a record that shows a member of the " +
                        "job, got none");
  }
  if (!others.empty() && agents_.empty()) {
    assumptions_.push_back(
        "the record does not say with which settings agents run: with PyTorch's defaults");
  }
  for (AgentTrace& agent : others) agents_.push_back(std::move(agent));
}

/// Two files of one agent would tell everything twice.
void AgentTraces::refuse_twins() const {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const AgentTrace &one = agents_[j], &other = agents_[i];
      const bool overlap =
          one.events.front().at <= other.last() && other.events.front().at <= one.last();
      if (one.node != other.node || one.pid() != other.pid() || !overlap) continue;
      throw ScenarioError(other.path +
                          ": event 1: expected an agent that no other file tells of, " +
                          "got process " + std::to_string(one.pid().value) + " on " + one.node +
                          ", of which " + one.path + " tells");
    }
  }
}

void AgentTraces::align() {
  std::vector<RoundTimes> rounds;
  for (std::size_t i = 0; i < agents_.size(); ++i) add_round_times(agents_[i], i, rounds);
  const ClockAlignment clocks = align_clocks(agents_.size(), rounds);
  for (const AgentTrace& agent : agents_) {
    const bool same = agent.node == agents_[0].node &&
                      std::chrono::abs(agent.ahead - agents_[0].ahead) < kOneClock;
    if (!same) at_most(Extent::several_clocks);
  }
  if (!clocks.consistent) {
    at_most(Extent::each_agent);
    assumptions_.push_back(
        "the machines' clocks contradict each other in a way that no constant difference explains: "
        "only what an agent shows of itself is judged");
  }
  for (std::size_t i = 0; i < agents_.size(); ++i) set_right(agents_[i], clocks.behind[i]);
  if (evidence_.extent == Extent::several_clocks) {
    assumptions_.push_back(
        "the order of what happened on several machines is known to about a second: what depends "
        "on less is not judged");
  }
}

void AgentTraces::set_right(AgentTrace& agent, sim::Duration behind) {
  for (RawEvent& event : agent.events) event.at += behind;
  if (behind < kToldCorrection) return;
  const bool widely = behind > kSteadyClock;
  if (widely) at_most(Extent::each_agent);
  assumptions_.push_back("the clock of " + agent.node + " was at least " + milliseconds(behind) +
                         " behind, for a round cannot be joined before it is completed: " +
                         (widely ? "only what an agent shows of itself is judged"
                                 : "it is taken to have been so much behind"));
}

void AgentTraces::note_logs() {
  std::set<std::string> nodes;
  for (const AgentTrace& agent : agents_) {
    nodes.insert(agent.node);
    if (!agent.is_log) continue;
    evidence_.has_logs = true;
    evidence_.without_detail = evidence_.without_detail || !agent.tells_detail;
    evidence_.has_members_of_a_record = evidence_.has_members_of_a_record || agent.from_record;
  }
  if (!evidence_.has_logs) return;
  if (evidence_.has_members_of_a_record) at_most(Extent::several_clocks);
  assumptions_.push_back(
      "torchrun's logs do not say how long a signalled agent waits for its workers: "
      "30 s, PyTorch's default");
  if (nodes.size() > 1) at_most(Extent::several_clocks);
}

/// A round with more members than there are traces of was not seen as a whole.
void AgentTraces::note_missing_members() {
  std::map<std::pair<std::string, std::int64_t>, std::set<std::int64_t>> seen;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> size;
  for (const AgentTrace& agent : agents_) {
    for (const RawEvent& event : agent.events) {
      // Every agent tells of its rank in its group, a static one of nothing before that.
      if (event.type != &ev::ranks_assigned) continue;
      const std::pair round{event.text("run_id"), event.number("round")};
      seen[round].insert(event.number("group_rank"));
      size[round] = std::max(size[round], event.number("group_world_size"));
    }
  }
  for (const auto& [round, members] : size) {
    const auto traced = static_cast<std::int64_t>(seen[round].size());
    if (traced >= members) continue;
    at_most(Extent::each_agent);
    assumptions_.push_back(
        (round.second < 0 ? "the group" : "round " + std::to_string(round.second)) + " of job \"" +
        round.first + "\" had " + std::to_string(members) + " members, of which " +
        std::to_string(traced) + (traced == 1 ? " has a trace" : " have traces") +
        " here: only what an agent shows of itself is judged");
  }
}

/// States that no trace wrote, and an agent that got into no round: others were there, or may have
/// been.
void AgentTraces::note_unknown_writers() {
  if (evidence_.has_logs) return note_seatless();
  std::set<std::int64_t> written{0};
  bool all_joined = true, all_known = true;
  const auto each_exchange = [&](auto see) {
    for (const AgentTrace& agent : agents_) {
      for (const RawEvent& event : agent.events) {
        if (event.type == &ev::rendezvous_exchanged) see(event, event.text("kind") == "read");
      }
    }
  };
  each_exchange([&](const RawEvent& event, bool is_read) {
    if (!is_read) written.insert(event.number("value"));
  });
  each_exchange([&](const RawEvent& event, bool is_read) {
    all_known = all_known && (!is_read || written.contains(event.number("value")));
  });
  for (const AgentTrace& agent : agents_) {
    all_joined = all_joined &&
                 std::any_of(agent.events.begin(), agent.events.end(), [](const RawEvent& event) {
                   return event.type == &ev::ranks_assigned;
                 });
  }
  if (all_known && all_joined) return;
  at_most(Extent::each_agent);
  assumptions_.push_back(
      std::string(all_known ? "an agent got into no round, and others may have been there"
                            : "the rendezvous was written by agents that have no trace here") +
      ": only what an agent shows of itself is judged");
}

/// Of logs nothing is known about states; an agent without a seat limits them all the same.
void AgentTraces::note_seatless() {
  const bool all_joined = std::all_of(agents_.begin(), agents_.end(), [](const AgentTrace& agent) {
    return std::any_of(agent.events.begin(), agent.events.end(),
                       [](const RawEvent& event) { return event.type == &ev::ranks_assigned; });
  });
  if (all_joined) return;
  at_most(Extent::each_agent);
  assumptions_.push_back(
      "an agent got into no round, and others may have been there: only what an agent shows of "
      "itself is judged");
}

void AgentTraces::note(AgentTrace& agent, TraceMerger& merger) {
  const auto name = std::find(names_.begin(), names_.end(), agent.node);
  const sim::NodeId node{static_cast<std::uint32_t>(name - names_.begin())};
  const sim::Pid pid = agent.pid();
  merger.note({agent.events.front().at,
               node,
               pid,
               &wev::process_started,
               {0, std::string(kAgentProgram), std::int64_t{pid.value}}});
  const sim::WorldTime last = agent.last();
  for (RawEvent& event : agent.events) {
    event.node = node;
    merger.note(event);
  }
  if (agent.exit_code) {
    merger.note({last, node, pid, &wev::process_ended, {*agent.exit_code}});
  } else {
    note_end(agent, node, merger);
  }
  agent.events.clear();
}

/// Its trace stops before it has said how it ended. Where the others go on for longer than it may be
/// silent it is gone, and with it, as far as anybody can tell, its machine.
void AgentTraces::note_end(const AgentTrace& agent, sim::NodeId node, TraceMerger& merger) {
  if (!agent.shows_life) return note_silent_end(agent, node, merger);
  const sim::WorldTime last = agent.last();
  if (agent.ended_with_job) {
    assumptions_.push_back(agent.path +
                           " is a member until the rendezvous is closed: how its agent " +
                           "ended is not known");
    return;
  }
  if (agent.keep_alive == sim::Duration::zero() || last_ - last <= agent.keep_alive) {
    assumptions_.push_back(agent.path + " stops before its agent ended: it was still running");
    return;
  }
  assumptions_.push_back(agent.path +
                         " stops before its agent ended, and others go on: it is taken to have "
                         "been killed then, with its workers");
  kill(agent, last, node, merger);
}

/// A log in which no heartbeat stands is silent for as long as workers run. An agent that another one
/// gives up as dead had sent none for as long as its keep-alive.
void AgentTraces::note_silent_end(const AgentTrace& agent, sim::NodeId node, TraceMerger& merger) {
  for (const Eviction& eviction : evictions_) {
    if (eviction.descriptor != agent.descriptor || eviction.at < agent.last()) continue;
    const sim::WorldTime at = std::max(agent.last(), eviction.at - agent.keep_alive);
    assumptions_.push_back(
        agent.path +
        " stops before its agent ended, and another agent gave it up as dead: it is "
        "taken to have been killed " +
        milliseconds(eviction.at - at) +
        " before that, with its "
        "workers");
    return kill(agent, at, node, merger);
  }
  assumptions_.push_back(agent.path +
                         " stops before its agent ended, and shows no heartbeats: it is taken to "
                         "have run until the end");
}

void AgentTraces::kill(const AgentTrace& agent, sim::WorldTime at, sim::NodeId node,
                       TraceMerger& merger) {
  for (const sim::Pid worker : agent.workers) {
    merger.note({at, node, worker, &wev::process_ended, {kKilled}});
  }
  merger.note({at, node, agent.pid(), &wev::process_ended, {kKilled}});
}

void AgentTraces::play(const std::vector<kernel::TraceSink*>& sinks) {
  const Scenario unknown;
  sim::WorldTime begin = sim::WorldTime::max();
  if (record_) last_ = std::max(last_, record_->ended);
  for (const AgentTrace& agent : agents_) begin = std::min(begin, agent.events.front().at);
  TraceMerger merger(AgentKind::hooke, unknown, names_, begin);
  for (kernel::TraceSink* const sink : sinks) merger.add_sink(*sink);
  end_ = sim::WorldTime(last_ - begin);
  for (const AgentTrace& agent : agents_) {
    for (const RawEvent& event : agent.events) {
      if (event.type != &ev::rendezvous_evicted) continue;
      evictions_.push_back({event.text("descriptor"), event.at});
    }
  }
  for (AgentTrace& agent : agents_) note(agent, merger);
  merger.tell(last_);
}

}  // namespace

std::unique_ptr<RecordedEvents> open_agent_traces(const std::vector<std::string>& paths) {
  return std::make_unique<AgentTraces>(paths);
}

}  // namespace hooke::scenario
