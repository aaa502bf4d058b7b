// Regular files are read and written at once, as everywhere: a disk that hangs hangs its process.
#include "sim/real/real_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/port/sync.h"

namespace hooke::real {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = 64UL * 1024;
/// Pause before a lock that others hold is tried again: flock(2) tells nobody when it is free.
constexpr std::chrono::milliseconds kLockPause{1};

class RealFileLock final : public sim::FileLock {
 public:
  explicit RealFileLock(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;
};

sim::Failure failure_of(int error, const std::string& what) {
  sim::Fault fault = sim::Fault::denied;
  switch (error) {
    case ENOENT:
    case ENOTDIR: fault = sim::Fault::not_found; break;
    case EEXIST: fault = sim::Fault::exists; break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: fault = sim::Fault::no_space; break;
    default: break;
  }
  return {fault, what + ": " + std::strerror(error), false};
}

sim::Outcome<sim::Done> done_unless(const std::error_code& error, const std::string& what) {
  if (error) return failure_of(error.value(), what);
  return sim::Done{};
}

sim::Outcome<sim::Done> write_all(const std::string& path, int flags, std::string_view bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (!file) return failure_of(errno, path);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure_of(errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return sim::Done{};
}

}  // namespace

/// Holds a FIFO open for reading. It also holds it open for writing, or the end of the last writer
/// would look like the end of the FIFO from then on.
class RealFiles::FifoReader final : public Watcher {
 public:
  FifoReader(EventLoop& loop, sim::Executor& executor, Descriptor fifo)
      : loop_(loop),
        arrived_(executor),
        fifo_(std::move(fifo)),
        watch_(loop.watch(fifo_.get(), *this)) {}
  ~FifoReader() override { loop_.forget(fifo_.get(), watch_); }
  FifoReader(const FifoReader&) = delete;
  FifoReader& operator=(const FifoReader&) = delete;

  sim::Outcome<std::string> read(const std::string& path,
                                 std::optional<sim::MonotonicTime> deadline) {
    thread_local std::array<char, kReadBytes> bytes;  // too much for the stack of a fiber
    for (bool in_time = true;;) {
      const ssize_t count = ::read(fifo_.get(), bytes.data(), bytes.size());
      if (count > 0) return std::string(bytes.data(), static_cast<std::size_t>(count));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != EAGAIN) return failure_of(errno, path);
      if (!in_time) return sim::Failure{sim::Fault::timed_out, path, false};
      in_time = arrived_.wait(deadline) == sim::Wake::woken;
    }
  }
  void on_ready(std::uint32_t) override { arrived_.wake_all(); }

 private:
  EventLoop& loop_;
  sim::WaitQueue arrived_;
  Descriptor fifo_;
  WatchId watch_;
};

RealFiles::RealFiles(EventLoop& loop, sim::Executor& executor) : loop_(loop), executor_(executor) {}

RealFiles::~RealFiles() = default;

sim::Outcome<sim::Done> RealFiles::make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return done_unless(error, path);
}

sim::Outcome<sim::Done> RealFiles::write(const std::string& path, std::string_view bytes) {
  return write_all(path, O_TRUNC, bytes);
}

sim::Outcome<sim::Done> RealFiles::append(const std::string& path, std::string_view bytes) {
  return write_all(path, O_APPEND, bytes);
}

sim::Outcome<std::string> RealFiles::read(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_of(errno, path);
  std::string out;
  std::string chunk(kReadBytes, '\0');
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure_of(errno, path);
    if (count == 0) return out;
    out.append(chunk, 0, static_cast<std::size_t>(count));
  }
}

sim::Outcome<std::string> RealFiles::read_from(const std::string& path, std::uint64_t offset) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_of(errno, path);
  std::string out(kReadBytes, '\0');
  ssize_t count = -1;
  do {
    count = pread(file.get(), out.data(), out.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return failure_of(errno, path);
  out.resize(static_cast<std::size_t>(count));
  return out;
}

sim::Outcome<sim::Done> RealFiles::rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return done_unless(error, from);
}

sim::Outcome<sim::Done> RealFiles::remove(const std::string& path) {
  readers_.erase(path);
  std::error_code error;
  fs::remove_all(path, error);
  return done_unless(error, path);
}

bool RealFiles::exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

sim::Outcome<std::vector<std::string>> RealFiles::list(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return failure_of(error.value(), path);
  std::sort(names.begin(), names.end());
  return names;
}

sim::Outcome<std::unique_ptr<sim::FileLock>> RealFiles::lock(
    const std::string& path, bool exclusive, bool create,
    std::optional<sim::MonotonicTime> deadline) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0644));
  if (!file) return failure_of(errno, path);
  while (flock(file.get(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure_of(errno, path);
    const sim::MonotonicTime now(loop_.now().time_since_epoch());
    if (deadline && now >= *deadline) {
      return sim::Failure{sim::Fault::timed_out, path + ": locked by another", false};
    }
    executor_.sleep_until(now + kLockPause);
  }
  return std::unique_ptr<sim::FileLock>(std::make_unique<RealFileLock>(std::move(file)));
}

sim::Outcome<sim::Done> RealFiles::make_fifo(const std::string& path) {
  if (mkfifo(path.c_str(), 0666) != 0) return failure_of(errno, path);
  return sim::Done{};
}

sim::Outcome<sim::Done> RealFiles::write_fifo(const std::string& path, std::string_view bytes) {
  const Descriptor fifo(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fifo && errno == ENXIO) return sim::Failure{sim::Fault::closed, path, false};
  if (!fifo) return failure_of(errno, path);
  const ssize_t count = ::write(fifo.get(), bytes.data(), bytes.size());
  if (count == static_cast<ssize_t>(bytes.size())) return sim::Done{};
  if (count >= 0 || errno == EAGAIN) return sim::Failure{sim::Fault::no_space, path, count > 0};
  if (errno == EPIPE) return sim::Failure{sim::Fault::closed, path, false};
  return failure_of(errno, path);
}

sim::Outcome<std::string> RealFiles::read_fifo(const std::string& path,
                                               std::optional<sim::MonotonicTime> deadline) {
  auto found = readers_.find(path);
  if (found == readers_.end()) {
    Descriptor fifo(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fifo) return failure_of(errno, path);
    found = readers_.emplace(path, std::make_unique<FifoReader>(loop_, executor_, std::move(fifo)))
                .first;
  }
  return found->second->read(path, deadline);
}

}  // namespace hooke::real
