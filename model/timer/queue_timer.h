#pragma once
// Timers over any queue of requests (torch/distributed/elastic/timer/api.py:TimerServer,
// local_timer.py): the loop that a user's own transport only has to feed, and one such transport,
// lines over a connection of the machine.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/timer/timer.h"
#include "model/timer/timer_table.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// Requests on their way to a server.
class TimerQueue {
 public:
  explicit TimerQueue(sim::Executor& executor) : requests_(executor) {}
  void put(TimerRequest request) {
    ++size_;
    requests_.push(std::move(request));
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Up to `count` requests; blocks until `deadline` at the latest.
  std::vector<TimerRequest> get(std::size_t count, sim::MonotonicTime deadline);

 private:
  sim::Channel<TimerRequest> requests_;
  std::size_t size_ = 0;
};

/// Watches the timers of one queue, and ends workers by SIGKILL. A derived class may end them
/// otherwise.
class QueueTimerServer : public TimerServer {
 public:
  QueueTimerServer(sim::Ports& ports, std::shared_ptr<TimerQueue> queue,
                   sim::Duration max_interval = std::chrono::seconds(60),
                   std::unique_ptr<TimerTable> timers = make_timer_table());
  ~QueueTimerServer() override;
  QueueTimerServer(const QueueTimerServer&) = delete;
  QueueTimerServer& operator=(const QueueTimerServer&) = delete;

  void start() override;
  void stop() override;
  [[nodiscard]] sim::WallTime last_progress_time() const override { return life_->progress; }

 protected:
  struct Life {
    explicit Life(sim::Executor& executor) : over(executor) {}
    sim::Flag over;
    bool stopping = false;
    sim::WallTime progress{};
  };

  /// Called when timers are over, before anything is done about it; what is over is looked up
  /// again afterwards. False: the server has ended meanwhile, and nothing of it is there any more.
  virtual bool hear_the_rest() { return true; }
  /// True when the worker's timers are done with; false: it is tried again. What it raises counts
  /// as done.
  virtual bool reap_worker(std::int64_t worker);

  sim::Ports& ports_;
  std::shared_ptr<TimerQueue> queue_;
  std::unique_ptr<TimerTable> timers_;
  std::shared_ptr<Life> life_;  ///< outlives us for as long as the fiber runs

 private:
  void step();

  sim::Duration max_interval_;
  bool started_ = false;
};

/// Feeds a queue with the requests that clients of this machine and user send to a port of the
/// loopback interface: one line each, as in a FIFO, but on a connection that is kept. Any other
/// client's connection is reset. A malformed line ends its connection and nothing
/// else.
class TimerListener final : public sim::AcceptHandler {
 public:
  /// std::runtime_error when the port (0: any) is taken.
  TimerListener(sim::Ports& ports, sim::PortNumber port, std::shared_ptr<TimerQueue> queue);
  ~TimerListener() override;
  TimerListener(const TimerListener&) = delete;
  TimerListener& operator=(const TimerListener&) = delete;
  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }
  void on_accept(std::unique_ptr<sim::Stream> stream) override;

 private:
  class Connection;
  sim::Ports& ports_;
  std::shared_ptr<TimerQueue> queue_;
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
};

/// The worker's side of a TimerListener.
class QueueTimerClient final : public TimerClient {
 public:
  QueueTimerClient(sim::Ports& ports, sim::Endpoint server);
  /// EscapedPythonError "BrokenPipeError" when the server cannot be reached.
  void acquire(const std::string& scope_id, sim::WallTime expires) override;
  void release(const std::string& scope_id) override;

 private:
  void send(const TimerRequest& request);

  sim::Ports& ports_;
  sim::Endpoint server_;
  std::unique_ptr<sim::Stream> stream_;
};

}  // namespace hooke::model
