#pragma once
// A failed worker process
// (torch/distributed/elastic/multiprocessing/errors/__init__.py:ProcessFailure).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct ProcessFailure {
  std::int64_t local_rank = 0;
  std::int64_t rank = 0;  ///< global
  sim::Pid pid{};
  bool stopped = false;    ///< ended because its agent had told it to
  int exit_code = 0;       ///< minus the signal's number when a signal killed it
  std::string error_file;  ///< "<N/A>" when the worker left none
  /// Whole seconds of wall time: the worker's own when it left a file, else of detection.
  std::int64_t timestamp = 0;
  std::string message;
  /// What the worker wrote, as it stands in its error file.
  std::string error_data = R"({"message": "<NONE>"})";
};

/// Failures in the order of their detection, within one look by ascending local rank.
using ProcessFailures = std::vector<ProcessFailure>;

/// "SIGSEGV" and so on, of all of Linux' ordinary signals; "<N/A>" for other numbers.
std::string_view signal_name(int number);

/// Sets data, timestamp and message from the text of an error file, which has one of the two forms
/// that PyTorch writes (errors/error_handler.py). nlohmann::json::exception or std::runtime_error
/// when it has neither; only the data are set then.
void read_error_file(const std::string& text, ProcessFailure& failure);

/// Completes `failure`, of which ranks, process and exit code are known, with what the worker's
/// error file says, or with what its exit status says when there is no file. A file that cannot be
/// parsed is an exception (std::runtime_error naming file and place) and ends the agent (A-15).
ProcessFailure describe_failure(sim::Ports& ports, ProcessFailure failure,
                                const std::string& error_file,
                                Variant variant = Variant::torch_2_x);

/// Likewise, with what its exit status says alone.
ProcessFailure describe_without_file(sim::Ports& ports, ProcessFailure failure, Variant variant);

/// The failure with the smallest timestamp, ties to the one detected first
/// (errors/__init__.py:ChildFailedError); there must be one. The clocks of two machines and whole
/// seconds decide: a consequence can beat the cause (A-16).
const ProcessFailure& first_failure(const ProcessFailures& failures);

}  // namespace hooke::model
