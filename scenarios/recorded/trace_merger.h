#pragma once
// One trace out of many: what real processes say of themselves, each in a file of its own, put in
// the order in which it happened and told as if one world had said it. What the simulated world
// would have told besides (a process began, a process ended) is added here, so that the same judges
// can follow.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/recorded/raw_event.h"
#include "scenarios/recorded/torchrun_log.h"
#include "sim/kernel/trace_recorder.h"
#include "sim/port/ids.h"

namespace hooke::scenario {

/// Which agents there are.
enum class AgentKind : unsigned char {
  hooke,     ///< they write their own trace
  torchrun,  ///< they do not: what they do is gathered from their workers, the store, their log and
             ///< their end
};

class TraceMerger {
 public:
  /// `begin`: the instant that is told as zero. `node_names` by NodeId; both must outlive this.
  TraceMerger(AgentKind kind, const Scenario& scenario, const std::vector<std::string>& node_names,
              sim::WorldTime begin);
  ~TraceMerger();
  TraceMerger(const TraceMerger&) = delete;
  TraceMerger& operator=(const TraceMerger&) = delete;

  void add_sink(kernel::TraceSink& sink) { recorder_.add_sink(sink); }
  /// Notes an event, in any order.
  void note(RawEvent event);
  /// Tells everything noted up to `until`, in order of time. What is noted later of an earlier time
  /// is told late.
  void tell(sim::WorldTime until);

  /// Workers that were told to have begun and not to have ended.
  struct Worker {
    sim::NodeId node{};
    sim::Pid pid{}, agent{};
    std::int64_t local_rank = 0, rank = 0;
    std::optional<std::int64_t> exit_code;  ///< it said so itself
  };
  [[nodiscard]] std::vector<Worker> living_workers() const;
  [[nodiscard]] std::uint64_t event_count() const { return recorder_.event_count(); }
  [[nodiscard]] sim::WorldTime begin() const { return begin_; }

 private:
  using Key = std::pair<sim::NodeId, sim::Pid>;
  struct Seat {
    std::int64_t round = -1;
    std::int64_t restarts = 0;
    std::int64_t size = 0;  ///< of the round, in agents
    bool left = false;
  };

  void tell_one(const RawEvent& event);
  /// Events of the torchrun kind that only imply what happened.
  void tell_reported(const RawEvent& event);
  void tell_logged(const RawEvent& event, Logged what);
  void leaves(const RawEvent& like, sim::Pid agent, Seat& seat, const char* cause);
  void worker_begins(const RawEvent& like, sim::Pid worker, sim::Pid agent, std::int64_t local_rank,
                     std::int64_t rank);
  void worker_ends(const RawEvent& like, sim::Pid worker, std::int64_t status);
  sim::EventId emit(const RawEvent& like, sim::Pid pid, const sim::EventType& type,
                    std::initializer_list<sim::FieldValue> fields);
  sim::EventId emit(const RawEvent& event);
  sim::WallTime wall(const RawEvent& event);

  AgentKind kind_;
  const Scenario& scenario_;
  const std::vector<std::string>& node_names_;
  sim::WorldTime begin_;
  kernel::TraceRecorder recorder_;
  sim::EventId cause_{};
  std::map<sim::NodeId, sim::Duration> ahead_;  ///< each node's wall clock, of the machine's clock
  sim::WorldTime told_until_{};  ///< time never goes back: what comes late happens now
  /// Of one instant those last that an exit barrier had to open for (see note()).
  std::multimap<std::pair<sim::WorldTime, bool>, RawEvent> noted_;
  std::map<Key, sim::WorldTime> left_barrier_;  ///< agents, when they did last
  std::map<Key, sim::EventId> born_;
  std::map<Key, Worker> workers_;
  std::set<Key> over_;         ///< workers whose end has been told
  std::map<Key, Seat> seats_;  ///< of torchrun agents
  std::int64_t completed_ = -1;
};

}  // namespace hooke::scenario
