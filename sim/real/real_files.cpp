// Regular files are read and written at once, as everywhere: a disk that hangs hangs its process.
#include "sim/real/real_files.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::real {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = 64UL * 1024;
/// Pause before a lock that others hold is tried again: flock(2) does not tell when it is free.
constexpr std::chrono::milliseconds kLockPause{1};

class RealFileLock final : public sim::FileLock {
 public:
  explicit RealFileLock(Descriptor file) : file_(std::move(file)) {
    HOOKE_CHECK(file_.get() >= 0, "a lock is that of an open file");
  }

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

/// The process' own streams are written to as they are: opened by name, a socket is refused and a
/// file written from its beginning.
int open_to_write(const std::string& path, int flags) {
  if (path == "/dev/stdout") return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (path == "/dev/stderr") return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  return open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
}

sim::Outcome<sim::Done> write_all(const std::string& path, int flags, std::string_view bytes) {
  const Descriptor file(open_to_write(path, flags));
  if (!file) return failure_of(errno, path);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure_of(errno, path);
    HOOKE_CHECK(static_cast<std::size_t>(count) <= bytes.size(),
                "no more is written than was given");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return sim::Done{};
}

sim::Outcome<Descriptor> open_fifo(const std::string& path, int mode) {
  Descriptor fifo(open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC));
  if (!fifo && errno == ENXIO) return sim::Failure{sim::Fault::closed, path, false};
  if (!fifo) return failure_of(errno, path);
  struct stat kind {};
  if (fstat(fifo.get(), &kind) != 0) return failure_of(errno, path);
  if (!S_ISFIFO(kind.st_mode)) return sim::Failure{sim::Fault::denied, path + ": no FIFO", false};
  return fifo;
}

class RealFifoReader final : public sim::FifoReader, private Watcher {
 public:
  RealFifoReader(EventLoop& loop, sim::Executor& executor, Descriptor fifo)
      : loop_(loop),
        changed_(executor),
        fifo_(std::move(fifo)),
        watch_(loop.watch(fifo_.get(), *this)) {}
  ~RealFifoReader() override {
    HOOKE_CHECK(fifo_.get() >= 0, "a FIFO stays open while it is watched");
    loop_.forget(fifo_.get(), watch_);
  }
  RealFifoReader(const RealFifoReader&) = delete;
  RealFifoReader& operator=(const RealFifoReader&) = delete;

  /// Without blocking the open itself: bytes or the end of a writer tell that there was one.
  sim::Outcome<sim::Done> wait_for_writer(std::optional<sim::MonotonicTime> deadline) override {
    for (bool in_time = true;;) {
      if (had_writer_) return sim::Done{};
      if (!in_time) return sim::Failure{sim::Fault::timed_out, "FIFO", false};
      in_time = changed_.wait(deadline) == sim::Wake::woken;
    }
  }

  sim::Outcome<std::string> read(std::optional<sim::MonotonicTime> deadline) override {
    thread_local std::array<char, kReadBytes> bytes;  // too much for the stack of a fiber
    for (bool in_time = true;;) {
      const ssize_t count = ::read(fifo_.get(), bytes.data(), bytes.size());
      HOOKE_CHECK(count <= static_cast<ssize_t>(kReadBytes),
                  "no more comes than there is room for");
      if (count >= 0) return std::string(bytes.data(), static_cast<std::size_t>(count));
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return failure_of(errno, "FIFO");
      if (!in_time) return sim::Failure{sim::Fault::timed_out, "FIFO", false};
      in_time = changed_.wait(deadline) == sim::Wake::woken;
    }
  }

 private:
  void on_ready(std::uint32_t events) override {
    had_writer_ = had_writer_ || (events & (EPOLLIN | EPOLLHUP)) != 0;
    changed_.wake_all();
  }

  EventLoop& loop_;
  sim::WaitQueue changed_;
  Descriptor fifo_;
  WatchId watch_;
  bool had_writer_ = false;
};

class RealFifoWriter final : public sim::FifoWriter {
 public:
  explicit RealFifoWriter(Descriptor fifo) : fifo_(std::move(fifo)) {
    HOOKE_CHECK(fifo_.get() >= 0, "a writer has an open FIFO");
  }

  sim::Outcome<sim::Done> write(std::string_view bytes) override {
    HOOKE_CHECK(fifo_.get() >= 0 && !bytes.empty(), "something is written to an open FIFO");
    ssize_t count = -1;
    do {
      count = ::write(fifo_.get(), bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    HOOKE_CHECK(count <= static_cast<ssize_t>(bytes.size()), "no more is written than was given");
    if (count == static_cast<ssize_t>(bytes.size())) return sim::Done{};
    if (count >= 0 || errno == EAGAIN) return sim::Failure{sim::Fault::no_space, "FIFO", count > 0};
    if (errno == EPIPE) return sim::Failure{sim::Fault::closed, "FIFO", false};
    return failure_of(errno, "FIFO");
  }

 private:
  Descriptor fifo_;
};

}  // namespace

sim::Outcome<sim::Done> RealFiles::make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return done_unless(error, path);
}

sim::Outcome<sim::Done> RealFiles::make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), S_IRWXU) != 0) return failure_of(errno, path);
  return sim::Done{};
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
    HOOKE_CHECK(static_cast<std::size_t>(count) <= chunk.size(),
                "no more is read than there is room for");
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
  HOOKE_CHECK(static_cast<std::size_t>(count) <= out.size(),
              "no more is read than there is room for");
  out.resize(static_cast<std::size_t>(count));
  return out;
}

sim::Outcome<sim::Done> RealFiles::rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return done_unless(error, from);
}

sim::Outcome<sim::Done> RealFiles::remove(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return done_unless(error, path);
}

sim::Outcome<sim::Done> RealFiles::remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    return failure_of(errno, path);
  return sim::Done{};
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
    HOOKE_CHECK(now >= sim::MonotonicTime(), "a monotonic clock is never before its beginning");
    if (deadline && now >= *deadline) {
      return sim::Failure{sim::Fault::timed_out, path + ": locked by another", false};
    }
    executor_.sleep_until(now + kLockPause);
  }
  return std::unique_ptr<sim::FileLock>(std::make_unique<RealFileLock>(std::move(file)));
}

sim::Outcome<sim::Done> RealFiles::make_fifo(const std::string& path) {
  if (mkfifo(path.c_str(), S_IRUSR | S_IWUSR) != 0) return failure_of(errno, path);
  return sim::Done{};
}

sim::Outcome<std::unique_ptr<sim::FifoReader>> RealFiles::open_fifo_reader(
    const std::string& path) {
  auto fifo = open_fifo(path, O_RDONLY);
  if (!fifo) return fifo.failure();
  return std::unique_ptr<sim::FifoReader>(
      std::make_unique<RealFifoReader>(loop_, executor_, std::move(fifo).value()));
}

sim::Outcome<std::unique_ptr<sim::FifoWriter>> RealFiles::open_fifo_writer(
    const std::string& path) {
  auto fifo = open_fifo(path, O_WRONLY);
  if (!fifo) return fifo.failure();
  return std::unique_ptr<sim::FifoWriter>(
      std::make_unique<RealFifoWriter>(std::move(fifo).value()));
}

}  // namespace hooke::real
