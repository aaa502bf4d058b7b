#pragma once
// The machine's own files.

#include <memory>

#include "sim/port/executor.h"
#include "sim/port/file_system.h"
#include "sim/real/event_loop.h"

namespace hooke::real {

class RealFiles final : public sim::FileSystem {
 public:
  RealFiles(EventLoop& loop, sim::Executor& executor) : loop_(loop), executor_(executor) {}

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

 private:
  EventLoop& loop_;
  sim::Executor& executor_;
};

}  // namespace hooke::real
