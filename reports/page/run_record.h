#pragma once
// What a page shows of a run, collected while it goes: what each node did when, the rounds, the
// faults, and the events a person would tell. Read off the trace, so that a real run gives the same
// page as a simulated one.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/page/deadlines.h"
#include "reports/page/store_story.h"
#include "reports/timeline.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// What an agent is doing, as the job's owner sees it.
enum class Phase : unsigned char {
  rendezvous,  ///< it has no workers yet, and meets the others
  training,    ///< its workers run
  peer_lost,   ///< its workers run, but one of their round has died, and it has not acted
  restarting,  ///< it ends its workers in order to start them again
  leaving,     ///< its part is done, or it has given up: exit barrier, end of workers, goodbye
};
inline constexpr std::size_t kPhases = 5;

struct Segment {
  Phase phase{};
  sim::WorldTime from{}, to{};
  std::string run_id;
  std::int64_t round = -1;  ///< of its workers; -1: it has none
};

/// One node, in order of time. Where two agents lived on it at once their segments overlap.
struct Lane {
  std::string node;
  std::vector<Segment> segments;
  std::vector<Deadline> deadlines{};
};

struct FaultMark {
  std::string what;  ///< "node.crash b"
  sim::WorldTime at{};
  std::uint64_t id = 0;  ///< of the fault; 0: what happened by itself
};

struct RoundRecord {
  std::string run_id;
  std::int64_t round = 0;
  sim::WorldTime began{};                       ///< when the first of its members wanted to join
  sim::WorldTime completed{};                   ///< the epoch: no agent was seen to complete it
  std::map<std::int64_t, std::string> members;  ///< node by rank
  std::string ended_by;                         ///< why its first member left it; empty: it did not
  sim::WorldTime ended{};
};

struct EventLine {
  sim::WorldTime at{};
  std::uint64_t event = 0;
  std::string node;  ///< empty: the world
  std::string text;
};

class RunRecord final : public kernel::TraceSink {
 public:
  /// `node_names` by NodeId.
  explicit RunRecord(std::vector<std::string> node_names);
  void on_event(const sim::Event& event) override;
  /// After the last event: what still goes on has gone on until then.
  void finish(sim::WorldTime end);

  /// A lane for each node on which an agent ran, in the order of the nodes.
  [[nodiscard]] std::vector<Lane> lanes() const;
  [[nodiscard]] const std::vector<FaultMark>& faults() const { return faults_; }
  [[nodiscard]] std::vector<RoundRecord> rounds() const;
  /// The first kLines of them.
  [[nodiscard]] const std::vector<EventLine>& lines() const { return lines_; }
  [[nodiscard]] std::uint64_t line_count() const { return line_count_; }
  [[nodiscard]] const StoreStory& store() const { return store_; }
  [[nodiscard]] sim::WorldTime end() const { return end_; }

  /// More are not for reading; a trace file has them all.
  static constexpr std::size_t kLines = 10'000;

 private:
  using Process = std::pair<sim::NodeId, sim::Pid>;
  using Round = std::pair<std::string, std::int64_t>;  ///< run id and number
  struct Agent {
    Phase phase{};
    sim::WorldTime since{};
    sim::WorldTime wanted{};  ///< when it last wanted to join
    std::string run_id;
    std::int64_t round = -1;
  };

  [[nodiscard]] std::string name_of(sim::NodeId node) const;
  void tell(const sim::Event& event);
  void follow_agent(const sim::Event& event, Agent& agent);
  void follow_processes(const sim::Event& event);
  void joined(const sim::Event& event, Agent& agent);
  void enter(Phase phase, const sim::Event& event, Agent& agent);
  void close(sim::NodeId node, const Agent& agent, sim::WorldTime at);
  void worker_gone(const Process& worker, const sim::Event& event, bool well);
  void lose(const Round& round, const sim::Event& event);

  std::vector<std::string> node_names_;
  std::map<sim::NodeId, std::vector<Segment>> segments_;
  std::map<Process, Agent> agents_;   ///< living ones
  std::map<Process, Round> workers_;  ///< living ones
  std::map<Round, RoundRecord> rounds_;
  std::set<Round> lost_;  ///< rounds of which a worker has died
  std::vector<FaultMark> faults_;
  DeadlineRecord deadlines_;
  StoreStory store_;
  Phrases phrases_;
  std::vector<EventLine> lines_;
  std::uint64_t line_count_ = 0;
  sim::WorldTime end_{};
};

}  // namespace hooke::report
