#pragma once
// One machine: its clock, disk, ports and processes. Internal to the world.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/files.h"
#include "sim/world/node_clock.h"
#include "sim/world/world.h"

namespace hooke::world {

class SimProcess;
struct ListenerState;
struct ServiceState;

struct Machine {
  Machine(sim::NodeId node_id, NodeOptions options, sim::WallTime wall_at_start)
      : id(node_id), name(std::move(options.name)), clock(wall_at_start, options.clock_drift_ppb) {}

  sim::NodeId id;
  std::string name;
  NodeClock clock;
  Disk disk;
  bool up = true;
  std::uint32_t boots = 0;           ///< how often it was started again after a crash
  sim::WorldTime network_free_at{};  ///< when its network card has sent what it was given
  World::Traffic traffic;

  /// Processes with a number, the youngest under each; ended ones stay until reaped.
  std::map<sim::Pid, SimProcess*> table;
  std::uint32_t processes_started = 0;
  std::int32_t next_pid = 100;
  std::vector<std::pair<FaultId, sim::Pid>> reused_pids;  ///< the next process gets this number

  std::map<std::uint16_t, ListenerState*> listeners;
  std::map<std::uint16_t, FaultId> busy_ports;  ///< held by a stranger
  std::vector<FaultId> port_thieves;            ///< each takes the next ephemeral port that closes
  std::uint16_t next_ephemeral_port = 32768;
  std::map<std::uint16_t, std::unique_ptr<ServiceState>> services;
};

}  // namespace hooke::world
