// Birth and end of a machine, where the types it only names are known.
#include "sim/world/machine.h"

#include "sim/world/sim_network.h"

namespace hooke::world {

Machine::Machine(sim::NodeId node_id, NodeOptions options, sim::WallTime wall_at_start)
    : id(node_id),
      name(std::move(options.name)),
      key(key_of(name)),
      clock(wall_at_start, options.clock_drift_ppb) {}

Machine::~Machine() = default;

}  // namespace hooke::world
