#pragma once
// Files of one machine. Whole-file operations and appends are all the protocol needs; a FIFO is a
// separate kind because its reader blocks. Every write may be cut short by a full disk, and every
// read and write may take as long as the disk takes: then a fiber waits.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/outcome.h"
#include "sim/port/time.h"

namespace hooke::sim {

/// An advisory lock on a file, shared by readers or held by one writer (flock(2)); destroying it
/// gives it back, as does the end of the process.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// A FIFO that is open for reading. Destroying it closes it, as does the end of the process; with
/// its last reader a FIFO forgets what it holds.
class FifoReader {
 public:
  virtual ~FifoReader() = default;
  /// Blocks until somebody has opened the FIFO for writing since this end was opened, be it gone
  /// again. timed_out, after which it may be asked again: what is written meanwhile is kept.
  virtual Outcome<Done> wait_for_writer(std::optional<MonotonicTime> deadline) = 0;
  /// Blocks for bytes and returns all there are; an empty text when there are none and no process
  /// has the FIFO open for writing. timed_out.
  virtual Outcome<std::string> read(std::optional<MonotonicTime> deadline) = 0;
};

/// A FIFO that is open for writing. Destroying it closes it, as does the end of the process.
class FifoWriter {
 public:
  virtual ~FifoWriter() = default;
  /// Never blocks. closed when no process has the FIFO open for reading any more; no_space when it
  /// is full (nothing is written then: up to PIPE_BUF bytes are written whole or not at all).
  virtual Outcome<Done> write(std::string_view bytes) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Creates the directory and its parents; success if it is there already.
  virtual Outcome<Done> make_directories(const std::string& path) = 0;
  /// Creates one directory that only this process' user may enter, list and write (and root). Fails
  /// with exists when the path is taken, be it by a link, and with not_found without a parent.
  virtual Outcome<Done> make_private_directory(const std::string& path) = 0;
  /// Truncates and writes. On no_space a prefix of `bytes` may be in the file.
  virtual Outcome<Done> write(const std::string& path, std::string_view bytes) = 0;
  /// Appends, creating the file when missing. On no_space a prefix may have been appended.
  virtual Outcome<Done> append(const std::string& path, std::string_view bytes) = 0;
  /// Whole contents of a regular file; not_found.
  virtual Outcome<std::string> read(const std::string& path) = 0;
  /// At most 64 KiB of a regular file from `offset` on, empty at its end; not_found.
  virtual Outcome<std::string> read_from(const std::string& path, std::uint64_t offset) = 0;
  /// Atomically replaces `to` by `from`; not_found.
  virtual Outcome<Done> rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file, or a directory with its contents; success when there is nothing.
  virtual Outcome<Done> remove(const std::string& path) = 0;
  /// Removes what is no directory: a file, FIFO, socket file or link, not what a link leads to.
  /// Success when there is nothing; denied, and nothing is removed, when it is a directory.
  virtual Outcome<Done> remove_file(const std::string& path) = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  /// Names (not paths) in a directory, sorted; not_found.
  virtual Outcome<std::vector<std::string>> list(const std::string& path) = 0;

  /// Locks a regular file, which is created empty when missing if `create` is set, waiting for
  /// others until `deadline`; not_found, timed_out.
  virtual Outcome<std::unique_ptr<FileLock>> lock(const std::string& path, bool exclusive,
                                                  bool create,
                                                  std::optional<MonotonicTime> deadline) = 0;

  /// Creates a FIFO for this process' user alone; exists when the path is taken, be it by a link.
  virtual Outcome<Done> make_fifo(const std::string& path) = 0;
  /// Opens a FIFO for reading and does not block; not_found, denied.
  virtual Outcome<std::unique_ptr<FifoReader>> open_fifo_reader(const std::string& path) = 0;
  /// Opens a FIFO for writing and does not block; not_found, denied, and closed when no process has
  /// it open for reading.
  virtual Outcome<std::unique_ptr<FifoWriter>> open_fifo_writer(const std::string& path) = 0;
};

}  // namespace hooke::sim
