#pragma once
// Countdown timers: a worker declares that a block ends by a deadline, and a server on the same
// machine ends the worker when it does not (torch/distributed/elastic/timer/api.py). A user's own
// client and server are classes derived from these.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "model/timer/timer_request.h"
#include "sim/port/clock.h"

namespace hooke::model {

class TimerClient {
 public:
  virtual ~TimerClient() = default;
  /// Arms the timer of `scope_id`, or moves its deadline. EscapedPythonError when the request
  /// cannot be made.
  virtual void acquire(const std::string& scope_id, sim::WallTime expires) = 0;
  /// Disarms it. EscapedPythonError: it stays armed then.
  virtual void release(const std::string& scope_id) = 0;
};

class TimerServer {
 public:
  virtual ~TimerServer() = default;
  /// Begins to watch.
  virtual void start() = 0;
  /// Watches no more; waits for at most the server's interval.
  virtual void stop() = 0;
  /// When the watch last went round, in whole seconds of wall time; a health check compares it with
  /// now.
  [[nodiscard]] virtual sim::WallTime last_progress_time() const = 0;
};

/// The timers of one worker process.
class Timers {
 public:
  explicit Timers(sim::Clock& clock) : clock_(clock) {}

  /// The client that scopes use from now on; null: none.
  void configure(std::shared_ptr<TimerClient> client) { client_ = std::move(client); }

  /// Runs `body`, which must end within `after`. The scope is the caller's line unless named, so
  /// that a scope inside itself moves the deadline of the outer one and then disarms it (T-2).
  /// EscapedPythonError "RuntimeError" without a client; what the client raises: before the body it
  /// is not run, after it the error stands for whatever the body raised.
  template <class Body>
  void expires(sim::Duration after, Body&& body, std::string scope = "",
               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::shared_ptr<TimerClient> client = configured();
    if (scope.empty()) scope = std::string(file) + "#" + std::to_string(line);
    client->acquire(scope, clock_.wall_now() + after);
    try {
      std::forward<Body>(body)();
    } catch (const std::exception&) {
      client->release(scope);
      throw;
    }
    client->release(scope);
  }

 private:
  [[nodiscard]] std::shared_ptr<TimerClient> configured() const;

  sim::Clock& clock_;
  std::shared_ptr<TimerClient> client_;
};

}  // namespace hooke::model
