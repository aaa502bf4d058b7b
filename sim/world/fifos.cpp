// FIFOs of a simulated machine: which process has which end open, and which waits for the other.
#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/files.h"

namespace hooke::world {
namespace {

constexpr std::size_t kFifoCapacityBytes = 65'536;  // Linux' default pipe size

sim::Failure fifo_failure(sim::Fault fault, const std::string& path) {
  return {fault, path, false};
}

}  // namespace

/// One end of a FIFO that a process has open. The process may end before the object does.
class SimFiles::PipeEnd {
 public:
  PipeEnd(SimFiles& files, std::shared_ptr<Pipe> pipe) : files_(&files), pipe_(std::move(pipe)) {
    files.open_pipes_.push_back(this);
  }
  virtual ~PipeEnd() {
    if (files_ != nullptr) std::erase(files_->open_pipes_, this);
  }
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;

  /// Once: with the process, or with the object if that ends first.
  void close() {
    if (files_ == nullptr) return;
    std::erase_if(pipe_->waiting, [&](const auto& entry) { return entry.first == files_; });
    HOOKE_CHECK(std::find(files_->open_pipes_.begin(), files_->open_pipes_.end(), this) !=
                    files_->open_pipes_.end(),
                "an open end of a FIFO is listed at its process");
    leave();
    std::erase(files_->open_pipes_, this);
    files_ = nullptr;
  }

 protected:
  /// Takes this end out of the pipe's books.
  virtual void leave() = 0;
  [[nodiscard]] bool is_open() const { return files_ != nullptr; }
  Pipe& pipe() { return *pipe_; }
  void wake_all() {
    for (auto& [files, ticket] : std::exchange(pipe_->waiting, {})) {
      static_cast<void>(files->executor_.wake(ticket));
    }
  }
  /// False when `deadline` passes first.
  bool wait_for_change(std::optional<sim::MonotonicTime> deadline) {
    HOOKE_CHECK(is_open(), "only an open end of a FIFO waits");
    const sim::ParkTicket ticket = files_->executor_.ticket();
    pipe_->waiting.emplace_back(files_, ticket);
    const bool in_time = files_->executor_.park(ticket, deadline) == sim::Wake::woken;
    std::erase_if(pipe_->waiting, [&](const auto& entry) {
      return entry.second.fiber == ticket.fiber && entry.second.generation == ticket.generation;
    });
    return in_time;
  }

 private:
  SimFiles* files_;
  std::shared_ptr<Pipe> pipe_;
};

class SimFiles::PipeReader final : public sim::FifoReader, private PipeEnd {
 public:
  PipeReader(SimFiles& files, std::shared_ptr<Pipe> pipe)
      : PipeEnd(files, std::move(pipe)), writers_before_(this->pipe().writers_ever) {
    ++this->pipe().readers;
  }
  ~PipeReader() override { close(); }

  sim::Outcome<sim::Done> wait_for_writer(std::optional<sim::MonotonicTime> deadline) override {
    for (bool in_time = true;;) {
      if (!is_open()) return fifo_failure(sim::Fault::closed, "FIFO");
      if (pipe().writers != 0 || pipe().writers_ever != writers_before_) return sim::Done{};
      if (!in_time) return fifo_failure(sim::Fault::timed_out, "FIFO");
      in_time = wait_for_change(deadline);
    }
  }

  sim::Outcome<std::string> read(std::optional<sim::MonotonicTime> deadline) override {
    for (bool in_time = true;;) {
      if (!is_open()) return fifo_failure(sim::Fault::closed, "FIFO");
      if (!pipe().contents.empty()) return std::exchange(pipe().contents, {});
      if (pipe().writers == 0) return std::string();
      if (!in_time) return fifo_failure(sim::Fault::timed_out, "FIFO");
      in_time = wait_for_change(deadline);
    }
  }

 private:
  void leave() override {
    HOOKE_CHECK(pipe().readers > 0, "a reader that leaves was counted");
    if (--pipe().readers == 0) pipe().contents.clear();
  }

  std::uint64_t writers_before_;
};

class SimFiles::PipeWriter final : public sim::FifoWriter, private PipeEnd {
 public:
  PipeWriter(SimFiles& files, std::shared_ptr<Pipe> pipe) : PipeEnd(files, std::move(pipe)) {
    ++this->pipe().writers;
    ++this->pipe().writers_ever;
    HOOKE_CHECK(this->pipe().writers <= this->pipe().writers_ever, "each writer has come once");
    wake_all();
  }
  ~PipeWriter() override { close(); }

  sim::Outcome<sim::Done> write(std::string_view bytes) override {
    if (!is_open() || pipe().readers == 0) return fifo_failure(sim::Fault::closed, "FIFO");
    if (pipe().contents.size() + bytes.size() > kFifoCapacityBytes) {
      return fifo_failure(sim::Fault::no_space, "FIFO");
    }
    pipe().contents.append(bytes);
    HOOKE_CHECK(pipe().contents.size() <= kFifoCapacityBytes, "a FIFO holds no more than it can");
    wake_all();
    return sim::Done{};
  }

 private:
  void leave() override {
    HOOKE_CHECK(pipe().writers > 0, "a writer that leaves was counted");
    --pipe().writers;
    wake_all();
  }
};

sim::Outcome<sim::Done> SimFiles::make_fifo(const std::string& path) {
  if (auto parent = has_parent(path); !parent) return parent;
  if (disk_.files.contains(path)) return fifo_failure(sim::Fault::exists, path);
  disk_.files[path].pipe = std::make_shared<Pipe>();
  return sim::Done{};
}

sim::Outcome<std::shared_ptr<Pipe>> SimFiles::fifo(const std::string& path) {
  if (closed_) return fifo_failure(sim::Fault::closed, path);
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return fifo_failure(sim::Fault::not_found, path);
  if (!found->second.pipe) return fifo_failure(sim::Fault::denied, path);
  return found->second.pipe;
}

sim::Outcome<std::unique_ptr<sim::FifoReader>> SimFiles::open_fifo_reader(const std::string& path) {
  const auto found = fifo(path);
  if (!found) return found.failure();
  return std::unique_ptr<sim::FifoReader>(std::make_unique<PipeReader>(*this, found.value()));
}

sim::Outcome<std::unique_ptr<sim::FifoWriter>> SimFiles::open_fifo_writer(const std::string& path) {
  const auto found = fifo(path);
  if (!found) return found.failure();
  if (found.value()->readers == 0) return fifo_failure(sim::Fault::closed, path);
  return std::unique_ptr<sim::FifoWriter>(std::make_unique<PipeWriter>(*this, found.value()));
}

void SimFiles::close_pipes() {
  while (!open_pipes_.empty()) open_pipes_.back()->close();
}

}  // namespace hooke::world
