#pragma once
// Signals of one's own between workers, through a file that they share: "write a checkpoint",
// "finish after this step". No signal of the operating system is involved, so that none is lost,
// none interrupts anything, and workers of several machines may share a file on a common disk.
//
// One signal is one line of JSON: {"scope": "job", "name": "checkpoint", "from": "3", "number": 1}.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/ports.h"

namespace hooke::model {

struct FileSignal {
  std::string scope;         ///< of which job; others' lines are passed over
  std::string name;          ///< not empty
  std::string from;          ///< the worker that raised it
  std::uint64_t number = 0;  ///< counts what that one has raised, from 1 on
  friend bool operator==(const FileSignal&, const FileSignal&) = default;
};

/// No line, with its newline, is longer.
inline constexpr std::size_t kSignalBytesMax = 4096;

/// The line without its newline, in ASCII.
std::string encode_file_signal(const FileSignal& signal);
/// Reads such a line; members that it does not know are passed over. std::invalid_argument naming
/// the byte or the member that is wrong, and what was expected.
FileSignal parse_file_signal(std::string_view line);

class SignalFile {
 public:
  /// `scope` keeps jobs and incarnations apart that use one path, for the file outlives them all:
  /// what was raised in this scope before counts, so that a worker that comes late misses nothing.
  SignalFile(sim::Ports& ports, std::string path, std::string scope, std::string from);

  /// Appends a signal. EscapedPythonError: "ValueError" for an empty name or one that makes the
  /// line too long, "TimeoutError" when others hold the file for ten seconds, "OSError" when it
  /// cannot be written; the signal is lost then.
  void raise(const std::string& name);
  /// All that have been raised since the last look, one's own included, in the order of the file.
  /// None while there is no such file.
  std::vector<FileSignal> look();
  /// Looks every `interval` until a signal of that name is there that no earlier wait for this name
  /// has returned; nullopt at `deadline`.
  std::optional<FileSignal> wait(const std::string& name, sim::MonotonicTime deadline,
                                 sim::Duration interval = std::chrono::milliseconds(100));

 private:
  void take(std::string_view line, std::vector<FileSignal>& into);

  sim::Ports& ports_;
  std::string path_, scope_, from_;
  std::uint64_t raised_ = 0;
  std::uint64_t read_ = 0;             ///< bytes of the file that have been looked at
  std::string rest_;                   ///< of a line that is not complete yet
  std::vector<FileSignal> unclaimed_;  ///< seen by wait() and not what it waited for
};

}  // namespace hooke::model
