// The interpreter is told its modules over the socket that later brings it the forks.
#include "sim/guest/zygote.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sim/guest/python_sources.h"
#include "sim/port/check.h"
#include "sim/real/executable.h"

namespace hooke::guest {
namespace {

constexpr int kControl = 3;  ///< the interpreter's end of the control socket

struct Pair {
  real::Descriptor ours, theirs;
};

Pair socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw GuestError(std::string("socketpair: ") + std::strerror(errno));
  }
  HOOKE_CHECK(ends[0] >= 0 && ends[0] != ends[1], "a pair has two ends");
  return {real::Descriptor(ends[0]), real::Descriptor(ends[1])};
}

/// Nothing of the caller's environment reaches the guests, and strings have the same hashes in all.
std::vector<std::string> environment(const std::string& module_path) {
  return {"PYTHONPATH=" + module_path,
          "PATH=/usr/local/bin:/usr/bin:/bin",
          "PYTHONHASHSEED=0",
          "PYTHONDONTWRITEBYTECODE=1",
          "OMP_NUM_THREADS=1",
          "OPENBLAS_NUM_THREADS=1",
          "LC_ALL=C.UTF-8",
          "HOME=/"};
}

/// The interpreter has its full path as argv[0]: Python finds its own library beside that, and the
/// PATH of the guests need not lead there.
pid_t start(const std::string& command, const std::string& module_path, int control) {
  const real::Executable found = real::find_executable(command);
  if (found.error != 0) {
    throw GuestError("cannot start \"" + command + "\": " + std::strerror(found.error));
  }
  const std::string& python = found.path;
  HOOKE_CHECK(control > kControl, "the socket is not the number that it is moved to");
  std::vector<std::string> argv{python, "-c", std::string(bootstrap_source()),
                                std::to_string(kControl)};
  std::vector<std::string> variables = environment(module_path);
  std::vector<char*> arguments;
  std::vector<char*> entries;
  for (std::string& argument : argv) arguments.push_back(argument.data());
  for (std::string& variable : variables) entries.push_back(variable.data());
  arguments.push_back(nullptr);
  entries.push_back(nullptr);

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  // A session of its own: what a terminal sends to hooke is no business of the guests.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, control, kControl);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, python.c_str(), &actions, &attributes, arguments.data(), entries.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw GuestError("cannot start \"" + command + "\": " + std::strerror(error));
  HOOKE_CHECK(pid > 0, "a process that was started has a number");
  return pid;
}

}  // namespace

Zygote::Zygote(const ZygoteOptions& options) : fork_max_(options.fork_max) {
  Pair control = socket_pair();
  // Number 3 may be one of ours; dup2 of a descriptor onto itself would leave it closed on exec.
  real::Descriptor theirs(fcntl(control.theirs.get(), F_DUPFD_CLOEXEC, kControl + 1));
  if (!theirs) throw GuestError(std::string("fcntl: ") + std::strerror(errno));
  control.theirs.close();
  pid_ = start(options.python, options.module_path, theirs.get());
  theirs.close();
  control_ = std::move(control.ours);
  try {
    std::vector<Module> modules = own_modules();
    modules.insert(modules.end(), options.modules.begin(), options.modules.end());
    for (const Module& module : modules) {
      HOOKE_CHECK(!module.name.empty(), "a module has a name");
      send(Message::List{module.name, module.source}, {});
    }
    send({}, {});
    greeting_ = receive(options.start_max, "the imports");
  } catch (const GuestError&) {
    ::kill(pid_, SIGKILL);
    control_.close();
    waitpid(pid_, nullptr, 0);
    throw;
  }
}

Zygote::~Zygote() {
  HOOKE_CHECK(pid_ > 0, "what is ended with its session has begun one");
  control_.close();
  ::kill(-pid_, SIGKILL);  // its session: guests that are left as well
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Zygote::send(const Message& message, const std::vector<int>& descriptors) {
  send_message(control_.get(), message, descriptors);
}

Message Zygote::receive(std::chrono::milliseconds limit, const char* awaited) {
  Message answer;
  switch (receive_message(control_.get(), limit, answer)) {
    case Received::message: break;
    case Received::silence:
      throw GuestError(std::string("the interpreter of the guests was silent for ") +
                       std::to_string(limit.count()) + " ms, expected " + awaited);
    case Received::end:
      throw GuestError(std::string("the interpreter of the guests ended, expected ") + awaited);
  }
  if (!answer.at(0).truth()) throw GuestError(answer.at(1).text());
  return answer.at(1);
}

Zygote::Born Zygote::fork(const Message& config) {
  Born born;
  std::vector<real::Descriptor> theirs;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < kThreadsMax; ++i) {
    Pair pair = socket_pair();
    numbers.push_back(pair.theirs.get());
    theirs.push_back(std::move(pair.theirs));
    born.channels.push_back(std::move(pair.ours));
  }
  born.output = real::Descriptor(memfd_create("guest", MFD_CLOEXEC));
  if (!born.output) throw GuestError(std::string("memfd_create: ") + std::strerror(errno));
  numbers.push_back(born.output.get());
  send(Message::List{"fork", config}, numbers);
  HOOKE_CHECK(numbers.size() == kThreadsMax + 1, "a guest gets its channels and a file");
  const std::int64_t pid = receive(fork_max_, "a forked guest").number();
  if (pid <= 0)
    throw GuestError("the interpreter of the guests forked process " + std::to_string(pid));
  born.pid = static_cast<pid_t>(pid);
  return born;
}

void Zygote::kill(pid_t guest) {
  HOOKE_CHECK(guest > 0, "no group of processes is killed for a guest");
  send(Message::List{"kill", std::int64_t{guest}, SIGKILL}, {});
}

void Zygote::ask_for_stacks(pid_t guest) {
  HOOKE_CHECK(guest > 0, "a guest that is asked has been forked");
  send(Message::List{"kill", std::int64_t{guest}, SIGUSR2}, {});
}

}  // namespace hooke::guest
