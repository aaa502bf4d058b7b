#pragma once
// Fibers of one process. Protocol code is written as plain blocking code; whatever blocks ends up
// in park(). Primitives (mutex, event, channel …) are built on park/wake in sync.h and so are the
// same in every world.
//
// A process that dies wakes all its fibers with Killed. While they unwind, every port of that
// process is a silent no-op, and park() throws Killed again at once, so an unwinding fiber cannot
// stay.

#include <functional>
#include <optional>
#include <string>

#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::sim {

/// Thrown out of park() when the process or its node has died. Deliberately not a std::exception:
/// code that handles ordinary errors must not outlive its own process.
struct Killed {};

/// Names one suspension of one fiber. A wake with an old generation is ignored, so late wakes are
/// safe.
struct ParkTicket {
  FiberId fiber{};
  std::uint64_t generation = 0;
};

/// Why park() returned.
enum class Wake : unsigned char { woken, timed_out };

class Executor {
 public:
  virtual ~Executor() = default;

  /// Starts `body` as a fiber of this process. It first runs after the current fiber parks. An
  /// exception other than Killed that leaves `body` ends the whole run as a harness failure, naming
  /// the fiber.
  virtual FiberId spawn(std::string name, std::function<void()> body) = 0;

  /// Parks the caller until `fiber` has ended (returns at once when it has).
  virtual void join(FiberId fiber) = 0;

  /// The ticket for the calling fiber's next park. Hand it to the fiber that wakes this one.
  [[nodiscard]] virtual ParkTicket ticket() = 0;

  /// Suspends the calling fiber until wake(ticket) or until `deadline` on this node's monotonic
  /// clock. A wake that came between ticket() and park() is not lost. Throws Killed.
  virtual Wake park(ParkTicket ticket, std::optional<MonotonicTime> deadline = std::nullopt) = 0;

  /// Makes the fiber of `ticket` ready; true if this call woke it, false if the ticket is stale.
  virtual bool wake(ParkTicket ticket) = 0;

  /// Parks until `deadline` on this node's monotonic clock; a past deadline still yields once.
  void sleep_until(MonotonicTime deadline) { static_cast<void>(park(ticket(), deadline)); }
};

}  // namespace hooke::sim
