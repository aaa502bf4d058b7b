#pragma once
// A failed worker process
// (torch/distributed/elastic/multiprocessing/errors/__init__.py:ProcessFailure).

#include <cstdint>
#include <map>
#include <string>

#include "sim/port/ports.h"

namespace hooke::model {

struct ProcessFailure {
  std::int64_t local_rank = 0;
  sim::Pid pid{};
  int exit_code = 0;       ///< minus the signal's number when a signal killed it
  std::string error_file;  ///< "<N/A>" when the worker left none
  std::int64_t timestamp =
      0;  ///< whole seconds of wall time: the worker's when it left a file, else of detection
  std::string message;
};

/// What the worker's error file says, or what its exit status says when there is no file. A file
/// that cannot be parsed is an exception (std::runtime_error naming file and place) and ends the
/// agent.
ProcessFailure describe_failure(sim::Ports& ports, std::int64_t local_rank, sim::Pid pid,
                                int exit_code, const std::string& error_file);

/// The failure with the smallest timestamp, ties to the first
/// (errors/__init__.py:ChildFailedError). The clocks of two machines and whole seconds decide: a
/// consequence can beat the cause.
const ProcessFailure& first_failure(const std::map<std::int64_t, ProcessFailure>& failures);

}  // namespace hooke::model
