#include "scenarios/cli/workforce.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <optional>
#include <system_error>
#include <vector>

#include "sim/real/descriptor.h"

namespace hooke::cli {
namespace {

using real::Descriptor;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

bool write_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_task(int fd, std::uint64_t& task) {
  char* at = reinterpret_cast<char*>(&task);
  std::size_t left = sizeof task;
  while (left > 0) {
    const ssize_t got = read(fd, at, left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) return std::string("killed by SIG") + sigabbrev_np(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// One process and the two pipes to it.
struct Worker {
  pid_t pid = -1;
  Descriptor tasks;
  Descriptor results;
  std::optional<std::uint64_t> task;
  std::string received;
};

/// A child keeps nothing of what the parent has open to others: their ends would never come.
Worker start(const std::function<std::string(std::uint64_t)>& work,
             const std::list<Worker>& others) {
  int tasks[2];
  int results[2];
  if (pipe(tasks) != 0) fail("pipe");
  Worker worker;
  worker.tasks = Descriptor(tasks[1]);
  Descriptor child_tasks(tasks[0]);
  if (pipe(results) != 0) fail("pipe");
  worker.results = Descriptor(results[0]);
  Descriptor child_results(results[1]);
  const pid_t parent = getpid();
  worker.pid = fork();
  if (worker.pid < 0) fail("fork");
  if (worker.pid > 0) return worker;
  // A command that is ended at once leaves nothing behind that works on.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  std::signal(SIGINT, SIG_IGN);  // the parent ends in order, and so do its tasks
  close(worker.tasks.get());
  close(worker.results.get());
  for (const Worker& other : others) {
    close(other.tasks.get());
    close(other.results.get());
  }
  std::uint64_t task = 0;
  while (read_task(child_tasks.get(), task)) {
    const std::string line = work(task) + "\n";
    if (!write_all(child_results.get(), line.data(), line.size())) break;
  }
  _exit(0);
}

}  // namespace

std::uint64_t Workforce::run(std::uint64_t count) {
  std::signal(SIGPIPE, SIG_IGN);
  constexpr int kLookMs = 200;
  std::uint64_t given = 0;
  std::list<Worker> workers;
  const auto occupy = [&](Worker& worker) {
    if (given == count || !more()) {
      worker.tasks.close();
      return;
    }
    worker.task = given++;
    if (!write_all(worker.tasks.get(), &*worker.task, sizeof *worker.task)) fail("write");
  };
  for (unsigned i = 0; i < jobs && given < count; ++i) {
    workers.push_back(start(work, workers));
    occupy(workers.back());
  }
  while (!workers.empty()) {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers) polled.push_back({worker.results.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), kLookMs) < 0 && errno != EINTR) fail("poll");
    static_cast<void>(more());
    std::size_t index = 0;
    for (auto worker = workers.begin(); worker != workers.end(); ++index) {
      const bool readable = (polled[index].revents & (POLLIN | POLLHUP)) != 0;
      char bytes[65536];
      const ssize_t got = readable ? read(worker->results.get(), bytes, sizeof bytes) : -1;
      if (got > 0) {
        worker->received.append(bytes, static_cast<std::size_t>(got));
        if (const std::size_t end = worker->received.find('\n'); end != std::string::npos) {
          done(*std::exchange(worker->task, std::nullopt), worker->received.substr(0, end));
          worker->received.clear();
          occupy(*worker);
        }
      }
      if (got != 0) {
        ++worker;
        continue;
      }
      int status = 0;
      waitpid(worker->pid, &status, 0);
      const std::optional<std::uint64_t> lost = worker->task;
      worker = workers.erase(worker);
      if (!lost) continue;
      crashed(*lost, ending(status));
      if (given < count) {
        workers.push_front(start(work, workers));
        occupy(workers.front());
      }
    }
  }
  return given;
}

}  // namespace hooke::cli
