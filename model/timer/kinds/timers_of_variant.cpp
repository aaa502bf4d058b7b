#include "model/timer/kinds/timers_of_variant.h"

#include <utility>

#include "model/hardened/timer/hardened_file_timer.h"
#include "model/hardened/timer/hardened_queue_timer.h"
#include "model/hardened/timer/hardened_watchdog.h"
#include "model/planted/planted_timer_table.h"
#include "model/timer/watchdog.h"

namespace hooke::model {
namespace {

TimerTableMaker table_with(PlantedSet planted) {
  if (planted == PlantedSet()) return make_timer_table;
  return [planted] { return std::make_unique<PlantedTimerTable>(planted); };
}

}  // namespace

std::unique_ptr<FileTimerClient> make_file_timer_client(sim::Ports& ports, std::string path,
                                                        Variant variant,
                                                        std::optional<sim::Signal> signal) {
  if (variant == Variant::hardened)
    return std::make_unique<HardenedFileTimerClient>(ports, std::move(path), variant, signal);
  return std::make_unique<FileTimerClient>(ports, std::move(path), variant, signal);
}

std::unique_ptr<FileTimerServer> make_file_timer_server(sim::Ports& ports,
                                                        FileTimerOptions options) {
  if (options.variant == Variant::hardened)
    return make_hardened_file_timer_server(ports, std::move(options));
  return std::make_unique<FileTimerServer>(ports, std::move(options));
}

std::unique_ptr<QueueTimerServer> make_queue_timer_server(sim::Ports& ports,
                                                          std::shared_ptr<TimerQueue> queue,
                                                          sim::Duration max_interval,
                                                          PlantedSet planted, Variant variant) {
  if (variant == Variant::hardened) {
    return std::make_unique<HardenedQueueTimerServer>(ports, std::move(queue), max_interval,
                                                      table_with(planted)());
  }
  return std::make_unique<QueueTimerServer>(ports, std::move(queue), max_interval,
                                            table_with(planted)());
}

std::unique_ptr<WorkerTimers> make_watchdog(const TimerParts& parts) {
  if (parts.variant == Variant::hardened) {
    return std::make_unique<HardenedWatchdog>(parts.ports, parts.variant, parts.told,
                                              table_with(parts.planted));
  }
  return std::make_unique<Watchdog>(parts.ports, parts.variant, parts.told,
                                    table_with(parts.planted));
}

}  // namespace hooke::model
