#pragma once
// One machine: its clock, disk, ports and processes. Internal to the world.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/port/fnv1a.h"
#include "sim/port/network.h"
#include "sim/world/files.h"
#include "sim/world/node_clock.h"
#include "sim/world/world.h"

namespace hooke::world {

class SimProcess;
struct ListenerState;
struct ServiceState;

/// Socket files are numbered from here on, above all ports.
inline constexpr std::uint32_t kFirstSocketFile = 65'536;

/// Where a listener is met: a port, or a socket file of that number.
struct Door {
  std::uint32_t number = 0;
  std::string path;  ///< of the file; empty for a port
  /// Of a client: it came by a name that only this machine can mean. Of a listener: no other is
  /// let in.
  bool from_within = false;
  [[nodiscard]] bool is_file() const { return number >= kFirstSocketFile; }
  [[nodiscard]] sim::Endpoint on(const std::string& machine) const {
    if (is_file()) return {path, sim::PortNumber{0}};
    return {machine, sim::PortNumber{static_cast<std::uint16_t>(number)}};
  }
};

struct Machine {
  /// `wall_at_start`: what its wall clock said at the start of the run.
  Machine(sim::NodeId node_id, NodeOptions options, sim::WallTime wall_at_start);
  ~Machine();

  /// What streams of choices know the machine by. A hash of the name and not the number: the
  /// draws of a machine stay as they are when another one is taken out of the world.
  static constexpr std::uint64_t key_of(std::string_view name) { return sim::fnv1a(name); }

  // Touched by every message, therefore together.
  sim::WorldTime network_free_at{};  ///< when its network card has sent what it was given
  World::Traffic traffic;
  sim::NodeId id;
  bool up = true;

  std::string name;
  std::uint64_t key;
  NodeClock clock;
  std::map<FaultId, sim::WorldTime> clock_holds;  ///< clock_freeze faults, until when each lasts
  std::vector<FaultId> unfelt_clock_faults;       ///< of both clocks: no process has looked since
  std::vector<FaultId> unfelt_wall_faults;        ///< of the wall clock alone
  Disk disk;
  std::optional<FaultId> crash;  ///< why it is down
  std::uint32_t boots = 0;       ///< how often it was started again after a crash

  /// Processes with a number, the youngest under each; ended ones stay until reaped.
  std::map<sim::Pid, SimProcess*> table;
  std::uint32_t processes_started = 0;
  std::int32_t next_pid = 100;
  std::vector<std::pair<FaultId, sim::Pid>> reused_pids;  ///< the next process gets this number
  /// By which processes cannot start others; how often yet, 0: any number of times.
  std::vector<std::pair<FaultId, std::int64_t>> spawn_failures;

  std::map<std::uint32_t, ListenerState*> listeners;  ///< by the number of their door
  std::map<std::uint32_t, FaultId> busy_ports;        ///< held by a stranger
  std::vector<FaultId> port_thieves;  ///< each takes the next ephemeral port that closes
  std::uint16_t next_ephemeral_port = 32768;
  std::uint32_t next_socket_file = kFirstSocketFile;
  std::map<std::uint32_t, std::unique_ptr<ServiceState>> services;  ///< by the number of the door
};

}  // namespace hooke::world
