#pragma once
// This very process as a process of the world: the ports on the real machine, and fibers to run on
// them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/trace_recorder.h"
#include "sim/port/ports.h"
#include "sim/real/slow_look_ups.h"

namespace hooke::real {

class RealProcess {
 public:
  /// `arguments` is what the process was called with. std::system_error when the machine refuses
  /// what the ports need. One at a time per thread.
  explicit RealProcess(std::vector<std::string> arguments);
  ~RealProcess();
  RealProcess(const RealProcess&) = delete;
  RealProcess& operator=(const RealProcess&) = delete;

  /// How far this process' wall clock is from the machine's: how tests and scenarios give
  /// processes of one machine different clocks.
  void set_wall_clock_offset(sim::Duration offset);
  /// Lets `sink` see every event of this process.
  void add_sink(kernel::TraceSink& sink);

  /// `tell` hears of each name that takes longer than a second to be resolved, once, from another
  /// thread.
  void on_slow_look_up(TellSlowLookUp tell);

  /// Runs `program` in a fiber and returns what it returns. Fibers that it has left behind are
  /// ended. std::runtime_error when an exception leaves a fiber, naming it.
  int run(const std::function<int(sim::Ports&)>& program);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Processors of this machine (Python's os.cpu_count).
std::int64_t processor_count();

/// Raises the soft limit of open descriptors to the hard one, for a process with thousands of
/// connections. Not for one that starts workers: they would inherit it, and select(2) cannot.
void allow_many_descriptors();

}  // namespace hooke::real
