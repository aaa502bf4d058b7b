#pragma once
// PyTorch's parts of a timer, or what mends them: the variant says which.

#include <memory>
#include <optional>
#include <string>

#include "model/timer/file_timer.h"
#include "model/timer/queue_timer.h"
#include "model/timer/worker_timers.h"
#include "model/variant/variant.h"

namespace hooke::model {

std::unique_ptr<FileTimerClient> make_file_timer_client(
    sim::Ports& ports, std::string path, Variant variant,
    std::optional<sim::Signal> signal = sim::Signal::kill);

/// `options.variant` says which. std::runtime_error when the path cannot be made a FIFO.
std::unique_ptr<FileTimerServer> make_file_timer_server(sim::Ports& ports,
                                                        FileTimerOptions options);

std::unique_ptr<QueueTimerServer> make_queue_timer_server(sim::Ports& ports,
                                                          std::shared_ptr<TimerQueue> queue,
                                                          sim::Duration max_interval,
                                                          PlantedSet planted, Variant variant);

std::unique_ptr<WorkerTimers> make_watchdog(const TimerParts& parts);

}  // namespace hooke::model
