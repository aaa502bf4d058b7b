#pragma once
// All processes of all machines: birth, signals, death, reaping. Internal to the world.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/sim_process.h"

namespace hooke::world {

class ProcessTable {
 public:
  ProcessTable(kernel::Kernel& kernel, SimNetwork& network, FaultLog& faults,
               const WorldOptions& options)
      : kernel_(kernel), network_(network), faults_(faults), options_(options) {}

  void register_program(std::string name, Program program) {
    programs_[std::move(name)] = std::move(program);
  }
  /// `parent` null: started by the harness. Fails with not_found (no such program, or no directory
  /// for its output), denied, no_space or unreachable (the machine is down).
  sim::Outcome<sim::Pid> start(Machine& machine, SimProcess* parent,
                               const sim::SpawnRequest& request);
  /// The living or not yet reaped process with that number, or null.
  SimProcess* find(Machine& machine, sim::Pid pid);
  /// Sends a signal; `from` null: the harness.
  sim::Outcome<sim::Done> signal(SimProcess& target, sim::Signal signal, SimProcess* from);
  /// Makes the process end now.
  void end(SimProcess& process, sim::ExitStatus status);
  void reap(SimProcess& process);
  void crash(Machine& machine);

  void pause(SimProcess& process);
  void resume(SimProcess& process);
  void set_hung(SimProcess& process, bool hung);
  void set_unkillable(SimProcess& process, bool unkillable);
  /// What a process could catch waits while it is deaf, as behind a signal mask.
  void set_deaf(SimProcess& process, bool deaf);
  /// Exit status of processes the harness started, by machine and number.
  std::map<std::pair<sim::NodeId, sim::Pid>, sim::ExitStatus> exit_statuses;
  std::function<void(SimProcess&, std::string_view, std::uint64_t)> fault_point_observer;
  std::map<std::pair<sim::NodeId, std::string>, std::uint64_t> passages;

  /// Moves the deadlines of everything that sleeps on `machine`; true if anybody did.
  bool move_deadlines(Machine& machine, const std::function<sim::WorldTime(sim::WorldTime)>& moved);
  bool kill_fiber(SimProcess& process, std::string_view name) {
    return process.group_.kill_fiber(name);
  }
  void kill_everything();

  kernel::Kernel& kernel() { return kernel_; }
  SimNetwork& network() { return network_; }
  FaultLog& faults() { return faults_; }
  [[nodiscard]] sim::Duration timer_slack() const { return options_.timer_slack; }
  [[nodiscard]] bool steps_polls() const { return options_.steps_polls; }

 private:
  void act_on(SimProcess& process, sim::Signal signal);
  [[nodiscard]] static bool has_shell(const SimProcess& process);
  void hold_or_let_go(SimProcess& process);
  void deliver_what_waited(SimProcess& process);
  sim::Pid next_pid(Machine& machine);
  /// By a fault that lasts.
  bool is_kept_from_starting(Machine& machine);

  kernel::Kernel& kernel_;
  SimNetwork& network_;
  FaultLog& faults_;
  const WorldOptions& options_;
  std::map<std::string, Program> programs_;
  std::vector<std::unique_ptr<SimProcess>> processes_;
};

}  // namespace hooke::world
