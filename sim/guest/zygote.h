#pragma once
// A Python interpreter that has imported what its guests need and is then forked for each of them:
// a guest is there within milliseconds and shares the memory of the imports. The names through
// which Python reaches clocks, threads, processes and the network have been replaced before the
// first import (python/), so that a guest reaches the world of its ports and nothing else.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "sim/guest/message.h"
#include "sim/real/descriptor.h"

namespace hooke::guest {

/// Threads that a guest may have at one time, its main thread among them.
inline constexpr std::size_t kThreadsMax = 32;

/// A Python module that is given as text, because hooke is one file.
struct Module {
  std::string name;
  std::string source;
};

struct ZygoteOptions {
  std::string python;  ///< the interpreter's command: 3.9 to 3.12
  /// Executed in order, after hooke's own. The last one has `prepare()`, which imports the program
  /// and returns the greeting, and `main(config)`, which is a guest.
  std::vector<Module> modules;
  std::string module_path = {};  ///< its PYTHONPATH, by which it may import a checkout
  std::chrono::milliseconds start_max{120'000};  ///< real time for the imports
  std::chrono::milliseconds fork_max{30'000};    ///< real time for one fork
};

class Zygote {
 public:
  /// Starts the interpreter and waits for the imports. GuestError with Python's own words when it
  /// cannot be started, or fails, or when a module still holds a real clock, sleep or lock that its
  /// guests would read.
  explicit Zygote(const ZygoteOptions& options);
  /// Ends it, and every guest that is left.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  /// What `prepare()` has returned.
  [[nodiscard]] const Message& greeting() const { return greeting_; }

  /// A forked guest: a channel for each of its threads, the main thread's first, and what it writes
  /// to its standard streams past Python, the stacks of its threads among them.
  struct Born {
    pid_t pid = 0;
    std::vector<real::Descriptor> channels;
    real::Descriptor output;
  };
  /// Forks a guest, which waits for the first word on its first channel. GuestError.
  Born fork(const Message& config);
  /// Kills a guest; harmless when it is gone.
  void kill(pid_t guest);
  /// Has a guest write the stacks of all its threads into its output, soon.
  void ask_for_stacks(pid_t guest);

 private:
  void send(const Message& message, const std::vector<int>& descriptors);
  Message receive(std::chrono::milliseconds limit, const char* awaited);

  real::Descriptor control_;
  pid_t pid_ = 0;
  std::chrono::milliseconds fork_max_;
  Message greeting_;
};

/// One message over a SOCK_SEQPACKET socket. GuestError.
void send_message(int socket, const Message& message, const std::vector<int>& descriptors = {});

/// What came of waiting for one.
enum class Received : unsigned char { message, silence, end };
/// Waits in real time for at most `limit`; fills `message` when one came. GuestError.
Received receive_message(int socket, std::chrono::milliseconds limit, Message& message);

/// Everything that was written into that file, whichever process did.
std::string contents(const real::Descriptor& file);

}  // namespace hooke::guest
