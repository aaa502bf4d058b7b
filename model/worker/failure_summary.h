#pragma once
// What a person and a parent process are told of a failed job
// (torch/distributed/elastic/multiprocessing/errors/__init__.py:ChildFailedError.format_msg,
// error_handler.py:dump_error_file).

#include <string>
#include <vector>

#include "model/worker/process_failure.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// The name of the function by which torchrun runs the script of --run-path (run.py).
inline constexpr const char* kRunScriptPathName = "run_script_path";
/// Whether a command has that function, as those of --run-path do.
bool runs_script_path(const std::vector<std::string>& command);
/// What a command is called: the script for an interpreter, else the program.
std::string entry_point_name(const std::vector<std::string>& command);

/// PyTorch's block of text: the other failures, then the root cause, which is one of `failures`.
/// Times are UTC.
std::string failure_summary(const std::string& name, const ProcessFailures& failures,
                            const std::string& host, const ProcessFailure& root);
/// Likewise, with the first failure as the root cause.
std::string failure_summary(const std::string& name, const ProcessFailures& failures,
                            const std::string& host);

/// Writes the root cause's error file, with its exit code added, to the file that this process'
/// own TORCHELASTIC_ERROR_FILE names. Does nothing when that is not set or the worker left no file;
/// a file that cannot be written is no reason to fail.
void pass_on_error_file(sim::Ports& ports, const ProcessFailure& root);

/// Writes an error of this process itself there, as PyTorch's `record` does.
void record_error(sim::Ports& ports, const std::string& message);

}  // namespace hooke::model
