#pragma once
// Processes of one machine as one of them sees it: start others, signal them, reap them, and
// receive signals oneself.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/ids.h"
#include "sim/port/outcome.h"
#include "sim/port/time.h"

namespace hooke::sim {

/// Signals the protocol uses, with their Linux numbers.
enum class Signal : int {
  none = 0,  ///< does nothing: asks only whether the process is there
  hup = 1,
  int_ = 2,
  quit = 3,
  kill = 9,
  usr1 = 10,
  usr2 = 12,
  term = 15,
  cont = 18,
  stop = 19
};

/// All that a process can be sent.
inline constexpr std::array kSignals{Signal::hup,  Signal::int_, Signal::quit,
                                     Signal::kill, Signal::usr1, Signal::usr2,
                                     Signal::term, Signal::cont, Signal::stop};

/// "SIGTERM" and so on.
constexpr std::string_view to_string(Signal signal) {
  switch (signal) {
    case Signal::none: return "SIG?";
    case Signal::hup: return "SIGHUP";
    case Signal::int_: return "SIGINT";
    case Signal::quit: return "SIGQUIT";
    case Signal::kill: return "SIGKILL";
    case Signal::usr1: return "SIGUSR1";
    case Signal::usr2: return "SIGUSR2";
    case Signal::term: return "SIGTERM";
    case Signal::cont: return "SIGCONT";
    case Signal::stop: return "SIGSTOP";
  }
  return "SIG?";
}

/// How a process ended: with an exit code 0..255, or killed by a signal.
struct ExitStatus {
  int code = 0;                  ///< exit code; 0 when a signal killed it
  std::optional<Signal> signal;  ///< the signal that killed it
  [[nodiscard]] bool success() const { return code == 0 && !signal; }
  /// Python's convention: the exit code, or minus the signal's number.
  [[nodiscard]] int as_python() const { return signal ? -static_cast<int>(*signal) : code; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// Everything needed to start a process.
struct SpawnRequest {
  std::vector<std::string> argv;                   ///< argv[0] is the program; not empty
  std::map<std::string, std::string> environment;  ///< complete, nothing is inherited
  bool new_session = true;                         ///< becomes leader of its own session and group
  std::string stdout_path;  ///< file to truncate and write, or empty: inherit
  std::string stderr_path;
  /// SIGKILL when the process that starts it ends, however that happens (Linux: PR_SET_PDEATHSIG).
  bool dies_with_parent = false;
};

/// Most looks of a process that looks again and again are in vain. A lookout says so in its place,
/// without the process being run.
class Lookout {
 public:
  virtual ~Lookout() = default;
  /// Called when the process would look, or ahead of that, with a monotonic clock that shows the time
  /// of a later look. Until when it sleeps on, as a look would see nothing; nullopt: it has to look
  /// itself. Must not block, and has no effect that the look would not have had at the same place.
  /// Depends on nothing but that clock and what the process has, which changes when one of its
  /// fibers or handlers runs, a signal comes or a child ends. What has to be looked at by the clock
  /// alone stays so: what a later look would not see, no look before it would.
  virtual std::optional<MonotonicTime> sleeps_on() = 0;
};

class ProcessHost {
 public:
  virtual ~ProcessHost() = default;

  /// This process.
  [[nodiscard]] virtual Pid self() const = 0;
  /// This process' environment, and its arguments.
  [[nodiscard]] virtual const std::map<std::string, std::string>& environment() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& arguments() const = 0;
  /// 0, 1, 2 and so on: how often this process has asked before. For what is numbered within one
  /// process.
  std::int64_t next_number() { return next_number_++; }

  /// Starts a child. Fails with not_found (no such program) or denied.
  virtual Outcome<Pid> spawn(const SpawnRequest& request) = 0;
  /// Sends `signal` to one process; not_found if there is none with that number.
  virtual Outcome<Done> signal(Pid pid, Signal signal) = 0;
  /// Sends `signal` to every member of the process group `leader`; not_found if it has no member.
  virtual Outcome<Done> signal_group(Pid leader, Signal signal) = 0;
  /// What a process does, as the letter that Linux has for it in /proc/<pid>/stat: R runs, S
  /// sleeps, D sleeps in the kernel where no signal reaches it (not even SIGKILL), T is stopped, Z
  /// has ended and is not reaped. nullopt when there is none with that number.
  [[nodiscard]] virtual std::optional<char> state(Pid pid) = 0;
  /// Reaps the child if it has ended; nullopt while it runs. Once reaped, the pid may be reused.
  virtual std::optional<ExitStatus> poll(Pid child) = 0;
  /// False: poll() has nothing to tell of any child. True also where that is not known.
  [[nodiscard]] virtual bool may_have_ended_children() { return true; }
  /// Blocks until the child has ended and reaps it; nullopt when `deadline` passes first.
  virtual std::optional<ExitStatus> wait(Pid child, std::optional<MonotonicTime> deadline) = 0;

  /// From now on `signal` is queued for take_signal() instead of its default action. KILL and STOP
  /// cannot be caught: denied.
  virtual Outcome<Done> catch_signal(Signal signal) = 0;
  /// The oldest caught signal not yet taken.
  virtual std::optional<Signal> take_signal() = 0;
  /// There is one to take.
  [[nodiscard]] virtual bool signal_pending() = 0;
  /// Parks until a caught signal is pending (true: not taken), the deadline or a wake (false).
  virtual bool wait_signal(std::optional<MonotonicTime> deadline) = 0;
  /// As wait_signal(), but where a world can ask `lookout` at the deadline, it does, and returns
  /// only when that has the process look. Where it cannot, the process looks each time.
  virtual bool wait_signal(MonotonicTime deadline, Lookout& /*lookout*/) {
    return wait_signal(deadline);
  }

 private:
  std::int64_t next_number_ = 0;
};

}  // namespace hooke::sim
