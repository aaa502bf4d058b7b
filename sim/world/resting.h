#pragma once
// A process that looks again and again, and whose lookout says of many looks at once that they would
// see nothing. Internal to the process.

#include <optional>

#include "sim/kernel/kernel.h"
#include "sim/port/process_host.h"

namespace hooke::world {

class SimProcess;

/// Asks a lookout for the kernel, and when it has said that its process sleeps on, what it would say
/// at looks to come: as long as nothing reaches the process only its clock can change that, and the
/// kernel has the process doze.
class Resting final : public kernel::Sleeper {
 public:
  Resting(SimProcess& process, sim::Lookout& lookout) : process_(process), lookout_(lookout) {}
  std::optional<sim::WorldTime> sleeps_on() override;
  /// The process is about to sleep until its first look.
  void lies_down(sim::WorldTime first_look);
  /// Something has reached the process: from the next look on the lookout is asked again.
  void ask_again();

 private:
  [[nodiscard]] std::optional<sim::MonotonicTime> asked_ahead(sim::Duration ahead);
  void ask_ahead(sim::WorldTime look, sim::MonotonicTime next_look);

  SimProcess& process_;
  sim::Lookout& lookout_;
  sim::FiberId fiber_{};
  bool dozes_ = false;
};

}  // namespace hooke::world
