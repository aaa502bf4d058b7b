#pragma once
// The problem: an agent takes the file of timers from a process that serves it already, whose
// workers then talk to no server or to the wrong agent (T-14).

#include <memory>
#include <string>

#include "model/timer/watchdog.h"

namespace hooke::model {

/// The workers are told the path, and so can be told another one: a file that is served is left
/// alone.
class HardenedWatchdog final : public Watchdog {
 public:
  using Watchdog::Watchdog;

 protected:
  std::string free_path(std::string path) override;
  std::unique_ptr<FileTimerServer> make_server(FileTimerOptions options) override;
};

}  // namespace hooke::model
