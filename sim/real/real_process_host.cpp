// Children are watched through pidfds, signals through a signalfd: both are events like any other.
#include "sim/real/real_process_host.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <system_error>

#include "sim/port/check.h"
#include "sim/port/sync.h"
#include "sim/real/executable.h"

extern char** environ;

namespace hooke::real {
namespace {

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

sim::Failure failure_of(int error, const std::string& what) {
  const sim::Fault fault = error == ENOENT || error == ESRCH || error == ENOTDIR
                               ? sim::Fault::not_found
                           : error == ENOSPC ? sim::Fault::no_space
                                             : sim::Fault::denied;
  return {fault, what + ": " + std::strerror(error), false};
}

sim::ExitStatus status_of(int raw) {
  HOOKE_CHECK(WIFSIGNALED(raw) || WIFEXITED(raw), "a child that was reaped has ended");
  sim::ExitStatus status;
  if (WIFSIGNALED(raw)) {
    status.signal = static_cast<sim::Signal>(WTERMSIG(raw));
  } else {
    status.code = WEXITSTATUS(raw);
  }
  return status;
}

/// posix_spawn's two parameter blocks, freed with it.
class SpawnParameters {
 public:
  SpawnParameters() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
  }
  ~SpawnParameters() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnParameters(const SpawnParameters&) = delete;
  SpawnParameters& operator=(const SpawnParameters&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

/// A child until it is reaped, which is when somebody learns of its end: its number stays taken
/// until then.
class RealProcessHost::Child final : public Watcher {
 public:
  Child(EventLoop& loop, sim::Executor& executor, pid_t pid)
      : loop_(loop),
        pid_(pid),
        ended_(executor),
        descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
    HOOKE_CHECK(pid_ > 0, "a child has a number");
    if (!descriptor_) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    watch_ = loop_.watch(descriptor_.get(), *this);
  }
  ~Child() override { loop_.forget(descriptor_.get(), watch_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::optional<sim::ExitStatus> reap() {
    int raw = 0;
    if (waitpid(pid_, &raw, WNOHANG) != pid_) return std::nullopt;
    return status_of(raw);
  }
  bool wait(std::optional<sim::MonotonicTime> deadline) { return ended_.wait(deadline); }
  void on_ready(std::uint32_t events) override {
    if ((events & EPOLLIN) != 0) ended_.set();
  }

 private:
  EventLoop& loop_;
  pid_t pid_;
  sim::Flag ended_;
  Descriptor descriptor_;
  WatchId watch_;
};

class RealProcessHost::SignalQueue final : public Watcher {
 public:
  SignalQueue(EventLoop& loop, sim::Executor& executor) : loop_(loop), arrived_(executor) {
    sigemptyset(&caught_);
  }
  ~SignalQueue() override {
    if (descriptor_) loop_.forget(descriptor_.get(), watch_);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  void add(int signal) {
    HOOKE_CHECK(signal > 0, "a signal that is caught has a number");
    sigaddset(&caught_, signal);
    pthread_sigmask(SIG_BLOCK, &caught_, nullptr);
    HOOKE_CHECK(sigismember(&caught_, SIGKILL) != 1 && sigismember(&caught_, SIGSTOP) != 1,
                "what no process can catch is not waited for");
    const int fd = signalfd(descriptor_.get(), &caught_, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
    if (!descriptor_) {
      descriptor_ = Descriptor(fd);
      watch_ = loop_.watch(fd, *this);
    }
  }
  std::optional<sim::Signal> take() {
    drain();
    if (pending_.empty()) return std::nullopt;
    const sim::Signal first = pending_.front();
    pending_.pop_front();
    return first;
  }
  /// A process that asks takes what has come from the kernel, and a process that waits must hear of
  /// it.
  bool has_one() {
    const std::size_t known = pending_.size();
    drain();
    if (pending_.size() != known) arrived_.wake_all();
    return !pending_.empty();
  }
  bool wait(std::optional<sim::MonotonicTime> deadline) {
    for (drain(); pending_.empty(); drain()) {
      if (arrived_.wait(deadline) == sim::Wake::timed_out) break;
      // What arrives empties the queue; otherwise the wake was another fiber's.
      if (!arrived_.empty()) break;
    }
    drain();
    return !pending_.empty();
  }
  void on_ready(std::uint32_t) override { arrived_.wake_all(); }

 private:
  void drain() {
    signalfd_siginfo info{};
    while (read(descriptor_.get(), &info, sizeof(info)) == sizeof(info)) {
      HOOKE_CHECK(info.ssi_signo > 0, "a signal that was caught has a number");
      pending_.push_back(static_cast<sim::Signal>(info.ssi_signo));
    }
  }

  EventLoop& loop_;
  sim::WaitQueue arrived_;
  sigset_t caught_{};
  Descriptor descriptor_;
  WatchId watch_;
  std::deque<sim::Signal> pending_;
};

RealProcessHost::RealProcessHost(EventLoop& loop, sim::Executor& executor,
                                 std::vector<std::string> arguments)
    : loop_(loop),
      executor_(executor),
      arguments_(std::move(arguments)),
      environment_(own_environment()) {}

RealProcessHost::~RealProcessHost() = default;

sim::Pid RealProcessHost::self() const {
  HOOKE_CHECK(getpid() > 0, "a process has a number");
  return sim::Pid{getpid()};
}

sim::Outcome<sim::Pid> RealProcessHost::spawn(const sim::SpawnRequest& request) {
  HOOKE_CHECK(!request.argv.empty(), "a process that is started has a program");
  SpawnParameters parameters;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&parameters.attributes, &none);
  posix_spawnattr_setsigdefault(&parameters.attributes, &all);
  posix_spawnattr_setflags(&parameters.attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              (request.new_session ? POSIX_SPAWN_SETSID : 0)));
  const auto redirect = [&](int fd, const std::string& path) {
    if (path.empty()) return;
    posix_spawn_file_actions_addopen(&parameters.actions, fd, path.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
  };
  redirect(STDOUT_FILENO, request.stdout_path);
  if (!request.stderr_path.empty() && request.stderr_path == request.stdout_path) {
    posix_spawn_file_actions_adddup2(&parameters.actions, STDOUT_FILENO, STDERR_FILENO);
  } else {
    redirect(STDERR_FILENO, request.stderr_path);
  }
  std::vector<std::string> argv = request.argv;
  if (request.dies_with_parent) {
    if (const int error = find_executable(argv[0]).error) {
      return failure_of(error, "starting " + request.argv[0]);
    }
    // Between fork and exec only the child itself can ask for it, which posix_spawn cannot say.
    argv.insert(argv.begin(), {"setpriv", "--pdeathsig", "KILL", "--"});
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : request.environment) variables.push_back(name + "=" + value);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &parameters.actions, &parameters.attributes,
                                 pointers(argv).data(), pointers(variables).data());
  if (error != 0) return failure_of(error, "starting " + request.argv[0]);
  HOOKE_CHECK(pid > 0 && !children_.contains(sim::Pid{pid}), "a child has a number of its own");
  children_[sim::Pid{pid}] = std::make_unique<Child>(loop_, executor_, pid);
  return sim::Pid{pid};
}

sim::Outcome<sim::Done> RealProcessHost::signal(sim::Pid pid, sim::Signal signal) {
  HOOKE_CHECK(pid.value > 0, "a signal is for one process: kill(2) takes other numbers for groups");
  if (kill(pid.value, static_cast<int>(signal)) == 0) return sim::Done{};
  return failure_of(errno, "signalling process " + std::to_string(pid.value));
}

sim::Outcome<sim::Done> RealProcessHost::signal_group(sim::Pid leader, sim::Signal signal) {
  HOOKE_CHECK(leader.value > 1, "a signal is for the group of a leader, and never for all");
  if (killpg(leader.value, static_cast<int>(signal)) == 0) return sim::Done{};
  return failure_of(errno, "signalling process group " + std::to_string(leader.value));
}

std::optional<char> RealProcessHost::state(sim::Pid pid) {
  HOOKE_CHECK(pid.value > 0, "a process that is looked at has a number");
  std::ifstream file("/proc/" + std::to_string(pid.value) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  // The program's name, in brackets before the letter, may have brackets and blanks of its own.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  return text[name_end + 2];
}

std::optional<sim::ExitStatus> RealProcessHost::poll(sim::Pid child) {
  const auto found = children_.find(child);
  if (found == children_.end()) return std::nullopt;
  const auto status = found->second->reap();
  HOOKE_CHECK(found->second != nullptr, "a child that is known is watched");
  if (status) children_.erase(found);
  return status;
}

std::optional<sim::ExitStatus> RealProcessHost::wait(sim::Pid child,
                                                     std::optional<sim::MonotonicTime> deadline) {
  const auto found = children_.find(child);
  if (found == children_.end() || !found->second->wait(deadline)) return std::nullopt;
  return poll(child);
}

sim::Outcome<sim::Done> RealProcessHost::catch_signal(sim::Signal signal) {
  if (signal == sim::Signal::kill || signal == sim::Signal::stop) {
    return sim::Failure{sim::Fault::denied, std::string(to_string(signal)), false};
  }
  if (!signals_) signals_ = std::make_unique<SignalQueue>(loop_, executor_);
  signals_->add(static_cast<int>(signal));
  return sim::Done{};
}

std::optional<sim::Signal> RealProcessHost::take_signal() {
  return signals_ ? signals_->take() : std::nullopt;
}

bool RealProcessHost::signal_pending() {
  return signals_ && signals_->has_one();
}

bool RealProcessHost::wait_signal(std::optional<sim::MonotonicTime> deadline) {
  if (signals_) return signals_->wait(deadline);
  static_cast<void>(executor_.park(executor_.ticket(), deadline));
  return false;
}

}  // namespace hooke::real
