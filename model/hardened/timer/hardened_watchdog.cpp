#include "model/hardened/timer/hardened_watchdog.h"

#include <utility>

#include "model/hardened/timer/hardened_file_timer.h"
#include "sim/port/check.h"

namespace hooke::model {

std::string HardenedWatchdog::free_path(std::string path) {
  HOOKE_CHECK(!path.empty(), "the path of the timer file is not empty");
  if (ports_.files.open_fifo_writer(path))
    path += "." + std::to_string(ports_.processes.self().value);
  return path;
}

std::unique_ptr<FileTimerServer> HardenedWatchdog::make_server(FileTimerOptions options) {
  return make_hardened_file_timer_server(ports_, std::move(options));
}

}  // namespace hooke::model
