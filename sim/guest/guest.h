#pragma once
// A real Python process as a process of whatever world its ports belong to. Every thread of it has
// a fiber, which answers the thread's last request, waits in real time for its next one, and
// carries that out at the ports. Exactly one thread of the whole world runs at any time: all others
// wait for an answer. The wait takes no time of the world's clock, and no other process may run
// meanwhile, so that a run with guests repeats like any other.

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "sim/guest/message.h"
#include "sim/guest/zygote.h"
#include "sim/port/ports.h"

namespace hooke::guest {

/// What the guest's program needs besides the machine: requests of its own, and its watchers.
/// Called in the fibers of the guest's threads.
class Services {
 public:
  virtual ~Services() = default;
  /// Carries out a request, whose arguments are a list, that is none of the machine's; may block
  /// the fiber. GuestError for one that is unknown.
  virtual Message request(const std::string& name, const Message& arguments) = 0;
  /// The same without an answer: must not block.
  virtual void note(const std::string& name, const Message& arguments) = 0;
  /// A line on one of the guest's standard streams, without its end.
  virtual void on_line(std::string_view line) = 0;
  /// The guest has started a child, has sent a signal to a process or (`group`) a process group,
  /// has learnt of a child's end (Python's convention), and is about to handle a signal.
  virtual void on_spawned(sim::Pid child, const sim::SpawnRequest& request) = 0;
  virtual void on_signalled(sim::Pid target, sim::Signal signal, bool group) = 0;
  virtual void on_reaped(sim::Pid child, int status) = 0;
  virtual void on_signal(sim::Signal signal) = 0;
  /// What the fiber of a thread with that name is called: faults kill fibers by name.
  [[nodiscard]] virtual std::string fiber_of(const std::string& thread) const {
    return "python " + thread;
  }
};

struct GuestOptions {
  Message config;         ///< handed to the program's `main`
  std::string directory;  ///< a real one, of this guest alone: where it is at home
  /// The watchdog: a thread that runs for longer than this in real time, without a request, is a
  /// failure of the harness. It changes nothing else.
  std::chrono::milliseconds silence_max{30'000};
};

/// Runs a guest in the calling fiber, which is that of its main thread, and returns its exit code.
/// The real process is killed when the process of the world dies, and in any case before this
/// returns. GuestError ends the run: a guest that stays silent, with the stacks of its threads;
/// one that does what only the simulated world may do; one that falls; and one that starts more
/// than kThreadsMax threads.
int run_guest(sim::Ports& ports, Zygote& zygote, Services& services, const GuestOptions& options);

}  // namespace hooke::guest
