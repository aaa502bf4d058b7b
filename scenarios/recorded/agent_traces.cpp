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
#include "scenarios/recorded/clock_alignment.h"
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

/// One file.
struct AgentTrace {
  std::string path;
  std::string node;
  std::vector<RawEvent> events;  ///< by the wall clock of its machine, as that was at its first
  std::set<sim::Pid> workers;    ///< which it started and did not see end
  sim::Duration keep_alive{};  ///< silence after which the others count it as dead; 0: they do not
  std::optional<std::int64_t> exit_code;  ///< it has said that it ends

  [[nodiscard]] sim::Pid pid() const { return events.front().pid; }
  [[nodiscard]] sim::WorldTime last() const { return events.back().at; }
};

/// What its events say that matters for more than themselves.
void take_in(AgentTrace& agent, const RawEvent& event) {
  if (event.type == &ev::agent_settings) {
    agent.keep_alive = sim::Duration(event.number("keep_alive"));
  } else if (event.type == &ev::worker_started) {
    agent.workers.insert(sim::Pid{static_cast<std::int32_t>(event.number("worker_pid"))});
  } else if (event.type == &ev::worker_ended) {
    agent.workers.erase(sim::Pid{static_cast<std::int32_t>(event.number("worker_pid"))});
  } else if (event.type == &ev::agent_finished) {
    agent.exit_code = event.number("exit_code");
  }
}

AgentTrace read_agent(const std::string& path, std::vector<std::string>& assumptions) {
  TraceReader reader(path);
  AgentTrace agent{path, "", {}, {}, {}, std::nullopt};
  sim::Duration ahead{};  // of its wall clock, of its monotonic one
  while (auto line = reader.next()) {
    RawEvent& event = line->event;
    if (agent.events.empty()) {
      agent.node = line->node;
      if (event.wall) ahead = event.wall->time_since_epoch() - event.at.time_since_epoch();
    } else if (line->node != agent.node || event.pid != agent.pid()) {
      throw ScenarioError(path + ": event " + std::to_string(line->id) +
                          ": expected an event of the agent that began the trace (process " +
                          std::to_string(agent.pid().value) + " on " + agent.node +
                          "), got one of process " + std::to_string(event.pid.value) + " on " +
                          line->node);
    }
    event.at += ahead;
    if (!agent.events.empty()) event.at = std::max(event.at, agent.last());
    take_in(agent, event);
    agent.events.push_back(std::move(event));
  }
  if (reader.cut_off()) assumptions.push_back(path + ": its last line is cut off and was not used");
  return agent;
}

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
    for (const std::string& path : paths) agents_.push_back(read_agent(path, assumptions_));
    refuse_twins();
    align();
    for (const AgentTrace& agent : agents_) {
      if (std::find(names_.begin(), names_.end(), agent.node) == names_.end()) {
        names_.push_back(agent.node);
      }
      last_ = std::max(last_, agent.last());
    }
    note_missing_members();
  }

  [[nodiscard]] const std::vector<std::string>& node_names() const override { return names_; }
  void play(const std::vector<kernel::TraceSink*>& sinks) override;
  [[nodiscard]] sim::WorldTime end() const override { return end_; }
  [[nodiscard]] bool complete() const override { return complete_; }
  [[nodiscard]] const std::vector<std::string>& assumptions() const override {
    return assumptions_;
  }

 private:
  void refuse_twins() const;
  void align();
  void note_missing_members();
  void note(AgentTrace& agent, TraceMerger& merger);
  void note_end(const AgentTrace& agent, sim::NodeId node, TraceMerger& merger);

  std::vector<AgentTrace> agents_;
  std::vector<std::string> names_;
  std::vector<std::string> assumptions_;
  bool complete_ = true;
  sim::WorldTime last_{};  ///< of all events
  sim::WorldTime end_{};
};

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
  if (!clocks.consistent) {
    assumptions_.push_back(
        "the machines' clocks contradict each other in a way that no constant difference explains: "
        "their times stand as they are");
  }
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (clocks.behind[i] >= kToldCorrection) {
      assumptions_.push_back("the clock of " + agents_[i].node + " is taken to have been " +
                             milliseconds(clocks.behind[i]) +
                             " behind: a round cannot be joined before it is completed");
    }
    for (RawEvent& event : agents_[i].events) event.at += clocks.behind[i];
  }
}

/// A round with more members than there are traces of was not seen as a whole.
void AgentTraces::note_missing_members() {
  std::map<std::pair<std::string, std::int64_t>, std::set<std::int64_t>> seen;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> size;
  for (const AgentTrace& agent : agents_) {
    for (const RawEvent& event : agent.events) {
      if (event.type != &ev::rendezvous_joined) continue;
      const std::pair round{event.text("run_id"), event.number("round")};
      seen[round].insert(event.number("rank"));
      size[round] = std::max(size[round], event.number("world_size"));
    }
  }
  for (const auto& [round, members] : size) {
    const auto traced = static_cast<std::int64_t>(seen[round].size());
    if (traced >= members) continue;
    complete_ = false;
    assumptions_.push_back("round " + std::to_string(round.second) + " of job \"" + round.first +
                           "\" had " + std::to_string(members) + " members, of which " +
                           std::to_string(traced) +
                           (traced == 1 ? " has a trace" : " have traces") +
                           " here: only what an agent shows of itself is judged");
  }
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
  const sim::WorldTime last = agent.last();
  if (agent.keep_alive == sim::Duration::zero() || last_ - last <= agent.keep_alive) {
    assumptions_.push_back(agent.path + " stops before its agent ended: it was still running");
    return;
  }
  assumptions_.push_back(agent.path +
                         " stops before its agent ended, and others go on: it is taken to have "
                         "been killed then, with its workers");
  for (const sim::Pid worker : agent.workers) {
    merger.note({last, node, worker, &wev::process_ended, {kKilled}});
  }
  merger.note({last, node, agent.pid(), &wev::process_ended, {kKilled}});
}

void AgentTraces::play(const std::vector<kernel::TraceSink*>& sinks) {
  const Scenario unknown;
  sim::WorldTime begin = sim::WorldTime::max();
  for (const AgentTrace& agent : agents_) begin = std::min(begin, agent.events.front().at);
  TraceMerger merger(AgentKind::hooke, unknown, names_, begin);
  for (kernel::TraceSink* const sink : sinks) merger.add_sink(*sink);
  end_ = sim::WorldTime(last_ - begin);
  for (AgentTrace& agent : agents_) note(agent, merger);
  merger.tell(last_);
}

}  // namespace

std::unique_ptr<RecordedEvents> open_agent_traces(const std::vector<std::string>& paths) {
  return std::make_unique<AgentTraces>(paths);
}

}  // namespace hooke::scenario
