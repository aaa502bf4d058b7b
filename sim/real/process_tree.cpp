// Linux keeps what is asked here below /proc.
#include "sim/real/process_tree.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::optional<sim::Pid> pid_named(const std::string& name) {
  int number = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
  if (end.ec != std::errc() || end.ptr != name.data() + name.size()) return std::nullopt;
  return sim::Pid{number};
}

bool holds(const std::string& environment, const std::string& variable) {
  for (std::size_t at = environment.find(variable); at != std::string::npos;
       at = environment.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || environment[at - 1] == '\0';
    if (begins && (end == environment.size() || environment[end] == '\0')) return true;
  }
  return false;
}

/// A killed process may have started another one a moment before.
void kill_all_marked(const std::string& variable) {
  constexpr int kSweeps = 50;
  constexpr useconds_t kPause = 20'000;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const std::vector<sim::Pid> left = processes_marked(variable);
    if (left.empty()) return;
    for (const sim::Pid pid : left) {
      HOOKE_CHECK(pid.value > 1, "a process that is killed is one process, and not the first");
      kill(pid.value, SIGKILL);
    }
    usleep(kPause);
  }
}

}  // namespace

void adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) fail("PR_SET_CHILD_SUBREAPER");
}

std::optional<sim::ExitStatus> reap_adopted(sim::Pid pid) {
  HOOKE_CHECK(pid.value > 0,
              "one process is waited for: waitpid(2) takes other numbers for groups");
  int status = 0;
  if (waitpid(pid.value, &status, WNOHANG) != pid.value) return std::nullopt;
  HOOKE_CHECK(WIFSIGNALED(status) || WIFEXITED(status), "a process that was reaped has ended");
  if (WIFSIGNALED(status)) return sim::ExitStatus{0, static_cast<sim::Signal>(WTERMSIG(status))};
  return sim::ExitStatus{WEXITSTATUS(status), std::nullopt};
}

bool is_running(sim::Pid pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid.value) + "/stat");
  // The state follows the name, which may hold anything but ends with the last parenthesis.
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() && stat[end + 2] != 'Z' &&
         stat[end + 2] != 'X';
}

std::vector<sim::Pid> processes_marked(const std::string& variable) {
  HOOKE_CHECK(variable.find('=') != std::string::npos,
              "processes are marked by a variable and its value");
  std::vector<sim::Pid> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto pid = pid_named(entry.path().filename().string());
    if (!pid || pid->value == getpid()) continue;
    HOOKE_CHECK(pid->value > 0, "a process has a number");
    if (holds(contents(entry.path() / "environ"), variable) && is_running(*pid)) {
      out.push_back(*pid);
    }
  }
  return out;
}

OrphanKiller::OrphanKiller(std::string variable) {
  HOOKE_CHECK(variable.find('=') != std::string::npos,
              "orphans are marked by a variable and its value");
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) fail("pipe");
  HOOKE_CHECK(ends[0] >= 0 && ends[1] >= 0 && ends[0] != ends[1], "a pipe has two ends");
  pid_ = fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    // Out of reach of what the terminal sends to its owner.
    setsid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    close(ends[1]);
    char byte = 0;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    kill_all_marked(variable);
    _exit(0);
  }
  close(ends[0]);
  pipe_ = ends[1];
  // A process that is started from here on must not hold it open.
  if (fcntl(pipe_, F_SETFD, FD_CLOEXEC) != 0) fail("fcntl");
}

OrphanKiller::~OrphanKiller() {
  HOOKE_CHECK(pid_ > 0 && pipe_ >= 0, "what kills orphans is one process, and hears of its owner");
  close(pipe_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace hooke::real
