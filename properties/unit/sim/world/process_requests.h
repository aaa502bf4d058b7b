#pragma once
// What tests of processes ask for: children, and faults that hit one process.

#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {

/// A request for a process that runs `program`.
inline sim::SpawnRequest child(const std::string& program, bool new_session = true) {
  return {{program}, {}, new_session, {}, {}};
}

/// Aims a fault at one process.
inline std::function<void(Fault&)> to_process(NodeId node, Pid pid,
                                              sim::Signal signal = sim::Signal::kill,
                                              Duration duration = {}) {
  return [=](Fault& fault) {
    fault.node = node;
    fault.pid = pid;
    fault.signal = signal;
    fault.duration = duration;
  };
}

}  // namespace hooke::world
