#pragma once
// The disk of one machine, in memory. Survives the death of processes and of the machine.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/executor.h"
#include "sim/port/file_system.h"
#include "sim/world/world.h"

namespace hooke::world {

class SimFiles;

/// What is in a FIFO and which processes have it open. Such a process keeps it when its path is
/// removed.
struct Pipe {
  std::string contents;
  std::size_t readers = 0;
  std::size_t writers = 0;
  std::uint64_t writers_ever = 0;
  std::vector<std::pair<SimFiles*, sim::ParkTicket>>
      waiting;  ///< for a writer to come, write or go
};

/// Contents shared by all processes of a machine, by path. A directory is an entry of its own; what
/// is in it are the keys below it.
struct Disk {
  struct File {
    std::string contents;
    bool is_directory = false;
    std::shared_ptr<Pipe> pipe;  ///< of a FIFO; else null
    std::uint32_t socket = 0;    ///< number of a socket file; else 0
    /// Bytes that can be read and written as such.
    [[nodiscard]] bool is_regular() const { return !is_directory && !pipe && socket == 0; }
  };
  /// The holders of the lock of a path: any number of readers, or one writer.
  struct Lock {
    std::vector<const SimFiles*> readers;
    const SimFiles* writer = nullptr;
    std::vector<std::pair<SimFiles*, sim::ParkTicket>> waiting;
  };
  struct ShortWrite {
    FaultId fault;
    std::size_t bytes_kept;
  };
  std::map<std::string, File> files;
  std::map<std::string, Lock> locks;  ///< those held or waited for
  std::vector<FaultId> full_because;  ///< disk_full faults at work: writes fail with no_space
  std::optional<ShortWrite> next_write;
  std::vector<FaultId> stalled_because;  ///< disk_stall faults at work: reads and writes wait
  std::vector<std::pair<SimFiles*, sim::ParkTicket>> stalled;  ///< fibers that wait for their end
  std::function<void(FaultId)> felt;  ///< told when a fault made a read or write fail or wait
};

/// The file system port of one process.
class SimFiles final : public sim::FileSystem {
 public:
  SimFiles(Disk& disk, sim::Executor& executor) : disk_(disk), executor_(executor) {}

  sim::Outcome<sim::Done> make_directories(const std::string& path) override;
  sim::Outcome<sim::Done> make_private_directory(const std::string& path) override;
  sim::Outcome<sim::Done> write(const std::string& path, std::string_view bytes) override;
  sim::Outcome<sim::Done> append(const std::string& path, std::string_view bytes) override;
  sim::Outcome<std::string> read(const std::string& path) override;
  sim::Outcome<std::string> read_from(const std::string& path, std::uint64_t offset) override;
  sim::Outcome<sim::Done> rename(const std::string& from, const std::string& to) override;
  sim::Outcome<sim::Done> remove(const std::string& path) override;
  sim::Outcome<sim::Done> remove_file(const std::string& path) override;
  [[nodiscard]] bool exists(const std::string& path) override;
  sim::Outcome<std::vector<std::string>> list(const std::string& path) override;
  sim::Outcome<std::unique_ptr<sim::FileLock>> lock(
      const std::string& path, bool exclusive, bool create,
      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<sim::Done> make_fifo(const std::string& path) override;
  sim::Outcome<std::unique_ptr<sim::FifoReader>> open_fifo_reader(const std::string& path) override;
  sim::Outcome<std::unique_ptr<sim::FifoWriter>> open_fifo_writer(const std::string& path) override;

  /// Blocks while the disk is stalled by a fault; to be called by a fiber. What is below /dev, /proc
  /// and /sys is on no disk. Only what moves bytes waits, or makes directories: the names, FIFOs,
  /// sockets and locks of files are in memory.
  void await_disk(std::string_view path);
  /// Those that waited look again.
  static void let_go_on(Disk& disk);
  /// As write(), and does not wait for the disk.
  sim::Outcome<sim::Done> write_at_once(const std::string& path, std::string_view bytes);

  /// Makes a socket file: address_in_use, not_found, denied.
  sim::Outcome<sim::Done> make_socket(const std::string& path, std::uint32_t number);
  /// The number of a socket file: not_found, connection_refused when it is none.
  sim::Outcome<std::uint32_t> socket(const std::string& path);

  /// The process has ended: its ends of FIFOs are closed, its locks are free, and every call fails
  /// from now on.
  void close();

 private:
  class HeldLock;
  class PipeEnd;
  class PipeReader;
  class PipeWriter;
  /// Gives back a lock of this process and wakes a process that waits for it.
  void unlock(const std::string& path, bool exclusive);
  /// The file to write to at `path`, created when missing.
  sim::Outcome<Disk::File*> writable(const std::string& path);
  /// Stores as much of `bytes` as the disk lets through at the end of `file`.
  sim::Outcome<sim::Done> store(const std::string& path, Disk::File& file, std::string_view bytes);
  /// Not found unless the directory that `path` lies in is there.
  sim::Outcome<sim::Done> has_parent(const std::string& path) const;
  /// The FIFO at `path`: not_found, denied.
  sim::Outcome<std::shared_ptr<Pipe>> fifo(const std::string& path);
  void close_pipes();

  Disk& disk_;
  sim::Executor& executor_;
  std::vector<PipeEnd*> open_pipes_;
  std::vector<HeldLock*> held_;
  bool closed_ = false;
};

}  // namespace hooke::world
