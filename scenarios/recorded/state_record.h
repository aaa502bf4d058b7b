#pragma once
// What a job's store showed while the job ran: torchrun agents write no trace, and a machine that is
// gone has taken its log with it, but the state of the rendezvous names every member and its last
// heartbeat. hooke state --record writes it, hooke judge reads it.

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "model/rendezvous/observer.h"
#include "sim/port/time.h"

namespace hooke::scenario {

/// Writes JSON Lines, a line for each look that showed something new; of heartbeats those that have
/// come since.
class StateRecorder {
 public:
  /// `out` must outlive this. `every`: the span between two looks.
  StateRecorder(std::ostream& out, const std::string& run_id, const std::string& backend,
                sim::Duration every, sim::WallTime now);
  /// A look at the job's state. Flushes, so that a record of a killed recorder is whole up to it.
  void saw(const model::RendezvousView& view, sim::WallTime now);
  /// The store gave no answer; told once until it does again.
  void unreachable(const std::string& why, sim::WallTime now);
  void ended(sim::WallTime now);

 private:
  std::ostream& out_;
  model::StateRef last_;
  bool reached_ = true;
};

/// One line of such a file.
struct StateSight {
  sim::WorldTime at{};  ///< by the recorder's wall clock
  bool heartbeats_only = false;
  std::int64_t round = 0;
  bool complete = false, closed = false;
  std::vector<std::pair<std::string, std::int64_t>> participants;  ///< "addr_pid_localid", rank
  std::vector<std::string> wait_list, redundancy_list;
  std::map<std::string, sim::WorldTime> heartbeats;  ///< those that are new; by the members' clocks
  std::string master_addr;                           ///< empty: not published
  std::int64_t master_port = 0;
};

struct StateRecord {
  std::string path, run_id, backend;
  sim::Duration every{};
  std::vector<StateSight> sights;
  sim::WorldTime ended{};  ///< of its last line
};

/// Whether the first line says that it is one.
bool is_state_record(const std::string& path);
/// ScenarioError naming file, line and place for what is no such file. A last line without an end is
/// left out.
StateRecord read_state_record(const std::string& path);

}  // namespace hooke::scenario
