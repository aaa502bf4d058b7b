#pragma once
// The start of a thread of Python's as its caller sees it.

#include <functional>
#include <string>

#include "sim/port/ports.h"

namespace hooke::model {

/// Starts `body` as a fiber of that name and waits until it runs, as the caller of
/// threading.py:Thread.start does: what was ready at that instant before, as another agent of the
/// machine, runs first. No time passes. In the fiber that stands for Python's main thread: a caught
/// signal ends the wait with SignalException, and `body` runs nevertheless.
void start_thread(sim::Ports& ports, std::string name, std::function<void()> body);

}  // namespace hooke::model
