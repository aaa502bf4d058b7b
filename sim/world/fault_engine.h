#pragma once
// Turns a Fault into a change of the world, and back again when its time is over. Internal to the
// world.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/process_table.h"

namespace hooke::world {

class FaultEngine {
 public:
  FaultEngine(kernel::Kernel& kernel, World& world, FaultLog& log,
              std::vector<std::unique_ptr<Machine>>& machines, SimNetwork& network,
              ProcessTable& processes)
      : kernel_(kernel),
        world_(world),
        log_(log),
        machines_(machines),
        network_(network),
        processes_(processes) {}

  FaultId inject(const Fault& fault);
  void heal(FaultId fault);
  /// See World::heal_core.
  void heal_core(const std::vector<sim::NodeId>& core);

 private:
  using Core = std::vector<sim::NodeId>;
  void heal_for(const Core& core, FaultId id, const Fault& fault);
  void heal_paths(const Core& core, FaultId id, const Fault& fault);
  void heal_name(const Core& core, FaultId id, const Fault& fault);
  void make_permanent(FaultId id, const Fault& fault);
  void continue_with(FaultId id, const Fault& rest);
  void continue_at_process(FaultId id, const Fault& rest);
  void set_clock_right(Machine& machine);
  [[nodiscard]] std::string describe_target(const Fault& fault) const;
  void act(FaultId id, const Fault& fault);
  void act_on_process(FaultId id, const Fault& fault, SimProcess& process);
  void act_on_machine(FaultId id, const Fault& fault, Machine& machine);
  void act_on_clock(FaultId id, const Fault& fault, Machine& machine);
  void act_on_disk(FaultId id, const Fault& fault, Machine& machine);
  void crash(FaultId id, Machine& machine);
  void restart(FaultId id, Machine& machine);
  [[nodiscard]] sim::Duration lingers(FaultId id, const Fault& fault);
  void undo(FaultId id, const Fault& fault);
  void undo_on_machine(FaultId id, const Fault& fault, Machine& machine);
  /// Lets every fiber on `machine` that sleeps by its clock wake by what it has become.
  bool move_sleepers(Machine& machine, const NodeClock& before);
  void hold_clock(Machine& machine);
  static void on_time_over(void* self, std::uint64_t fault);

  kernel::Kernel& kernel_;
  World& world_;
  FaultLog& log_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  SimNetwork& network_;
  ProcessTable& processes_;
  std::map<FaultId, Fault> lasting_;
  std::map<FaultId, SimProcess*> victims_;
};

}  // namespace hooke::world
