#pragma once
// A process that looks again and again, and whose lookout says of many looks at once that they would
// see nothing. Internal to sim_process.cpp.

#include <optional>

#include "sim/kernel/kernel.h"
#include "sim/port/process_host.h"

namespace hooke::world {

class SimProcess;

/// Asks a lookout for the kernel, and when it has said that its process sleeps on, what it would say
/// at looks to come: as long as nothing reaches the process only its clock can change that. Such looks
/// need no more than the line of the caches that this object is.
class alignas(64) Resting final : public kernel::Sleeper {
 public:
  Resting(SimProcess& process, sim::Lookout& lookout) : process_(process), lookout_(lookout) {}
  std::optional<sim::WorldTime> sleeps_on() override;
  /// Something has reached the process: from the next look on the lookout is asked again.
  void ask_again() { unasked_until_ = sim::WorldTime::min(); }

 private:
  void ask_ahead(sim::WorldTime now, sim::MonotonicTime next_look);

  SimProcess& process_;
  sim::Lookout& lookout_;
  sim::WorldTime unasked_until_ = sim::WorldTime::min();  ///< that look included
  sim::Duration apart_{};                                 ///< looks up to then
};

}  // namespace hooke::world
