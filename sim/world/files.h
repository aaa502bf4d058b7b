#pragma once
// The disk of one machine, in memory. Survives the death of processes and of the machine.

#include <map>
#include <string>

#include "sim/port/file_system.h"
#include "sim/port/sync.h"

namespace hooke::world {

/// Contents shared by all processes of a machine.
struct Disk {
  struct File {
    std::string contents;
    bool is_directory = false;
    bool is_fifo = false;
    int fifo_readers = 0;
    std::vector<std::pair<sim::Executor*, sim::ParkTicket>> fifo_waiters;
  };
  std::map<std::string, File> files;
  bool full = false;  ///< writes fail with no_space
  std::optional<std::size_t>
      next_write_keeps;             ///< the next write stores only so many bytes, then no_space
  std::function<void()> felt_full;  ///< told when `full` or `next_write_keeps` made a write fail
};

/// The file system port of one process.
class SimFiles final : public sim::FileSystem {
 public:
  SimFiles(Disk& disk, sim::Executor& executor) : disk_(disk), executor_(executor) {}

  sim::Outcome<sim::Done> make_directories(const std::string& path) override;
  sim::Outcome<sim::Done> write(const std::string& path, std::string_view bytes) override;
  sim::Outcome<sim::Done> append(const std::string& path, std::string_view bytes) override;
  sim::Outcome<std::string> read(const std::string& path) override;
  sim::Outcome<sim::Done> rename(const std::string& from, const std::string& to) override;
  sim::Outcome<sim::Done> remove(const std::string& path) override;
  [[nodiscard]] bool exists(const std::string& path) override;
  sim::Outcome<std::vector<std::string>> list(const std::string& path) override;
  sim::Outcome<sim::Done> make_fifo(const std::string& path) override;
  sim::Outcome<sim::Done> write_fifo(const std::string& path, std::string_view bytes) override;
  sim::Outcome<std::string> read_fifo(const std::string& path,
                                      std::optional<sim::MonotonicTime> deadline) override;

 private:
  /// Stores as much of `bytes` as the disk lets through at the end of `file`.
  sim::Outcome<sim::Done> store(const std::string& path, Disk::File& file, std::string_view bytes);
  sim::Outcome<Disk::File*> writable(const std::string& path);

  Disk& disk_;
  sim::Executor& executor_;
};

}  // namespace hooke::world
