#pragma once
// The connection of a process that asks a store and must not be deaf meanwhile.

#include <memory>

#include "sim/port/ports.h"

namespace hooke::model {

/// The stream itself, except that a caught signal ends a read: within a second it has timed out, as
/// if its deadline had come. PyTorch's clients go on waiting. Only reads with a deadline are
/// ended, and the signal is left for a process that takes it. `ports` must outlive the stream.
std::unique_ptr<sim::Stream> interruptible(sim::Ports& ports, std::unique_ptr<sim::Stream> stream);

/// The stream of a client that is written in Python, as python-etcd is: a caught signal is raised
/// out of a read, within a second, in the fiber that stands for Python's main thread; the reads of
/// other fibers go on. `ports` must outlive the stream. Reads throw SignalException.
std::unique_ptr<sim::Stream> raising_in(sim::FiberId main_thread, sim::Ports& ports,
                                        std::unique_ptr<sim::Stream> stream);

}  // namespace hooke::model
