// The loop of a server over a queue, and the queue over connections.
#include "model/timer/queue_timer.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "model/observe/background_tasks.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLineBytesMax = 64UL * 1024;
constexpr sim::Duration kConnectTimeout = 10s;

std::int64_t micros_of(sim::WallTime time) {
  return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::vector<TimerRequest> TimerQueue::get(std::size_t count, sim::MonotonicTime deadline) {
  std::vector<TimerRequest> out;
  while (out.size() < count) {
    std::optional<TimerRequest> next = requests_.pop(deadline);
    if (!next) break;
    HOOKE_CHECK(size_ > 0, "a request that is taken was counted");
    --size_;
    out.push_back(std::move(*next));
    HOOKE_CHECK(out.size() <= count, "no more requests are taken than were asked for");
  }
  return out;
}

QueueTimerServer::QueueTimerServer(sim::Ports& ports, std::shared_ptr<TimerQueue> queue,
                                   sim::Duration max_interval, std::unique_ptr<TimerTable> timers)
    : ports_(ports),
      queue_(std::move(queue)),
      timers_(std::move(timers)),
      life_(std::make_shared<Life>(ports.executor)),
      max_interval_(max_interval) {
  HOOKE_CHECK(queue_ != nullptr && timers_ != nullptr && max_interval_ > sim::Duration::zero(),
              "a server of timers has a queue and looks again and again");
  life_->progress = ports.clock.wall_now();
}

QueueTimerServer::~QueueTimerServer() {
  life_->stopping = true;
}

void QueueTimerServer::start() {
  HOOKE_CHECK(!started_, "a server of timers is started once");
  started_ = true;
  ports_.executor.spawn(std::string(tasks::kTimerServer), [this, life = life_] {
    while (!life->stopping) {
      const std::size_t count = std::max<std::size_t>(1, queue_->size());
      const auto queue = queue_;  // the server may end while we wait
      std::vector<TimerRequest> requests =
          queue->get(count, ports_.clock.monotonic_now() + max_interval_);
      if (life->stopping) break;
      for (const TimerRequest& request : requests) timers_->apply(request);
      HOOKE_CHECK(requests.size() <= count, "a server takes what it has seen, and one at least");
      step();
      if (life->stopping) break;
      life->progress = ports_.clock.wall_now();
    }
    life->over.set();
  });
}

void QueueTimerServer::stop() {
  life_->stopping = true;
  if (std::exchange(started_, false)) {
    static_cast<void>(life_->over.wait(ports_.clock.monotonic_now() + max_interval_));
  }
}

void QueueTimerServer::step() {
  const bool acts = !timers_->expired(ports_.clock.wall_now()).empty();
  if (acts && !hear_the_rest()) return;
  for (const auto& [worker, expired] : timers_->expired(ports_.clock.wall_now())) {
    HOOKE_CHECK(!expired.empty(), "a worker that is late has a timer that is over");
    const TimerRequest& first = expired.front();
    HOOKE_CHECK(first.worker_id == worker, "a worker is ended for its own timers");
    HOOKE_CHECK(first.expires.has_value(), "a timer that is over had a time");
    ports_.trace.emit(events::timer_expired,
                      {worker, first.scope_id, micros_of(*first.expires), first.signal});
    bool done = true;
    try {
      done = reap_worker(worker);
    } catch (const std::exception& error) {
      ports_.trace.emit(events::watchdog_failed, {"queue", error.what()});
    }
    if (!done) continue;
    ports_.trace.emit(events::timer_killed,
                      {worker, first.scope_id, micros_of(*first.expires), first.signal, true});
    timers_->clear(worker);
  }
}

bool QueueTimerServer::reap_worker(std::int64_t worker) {
  if (worker <= 0 || worker > std::numeric_limits<std::int32_t>::max()) return true;
  const auto sent =
      ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)}, sim::Signal::kill);
  return sent.ok() || sent.failure().fault == sim::Fault::not_found;
}

// ---- the queue over connections -----------------------------------------------------------------

class TimerListener::Connection final : public sim::StreamHandler {
 public:
  Connection(TimerListener& listener, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : listener_(listener), number_(number), stream_(std::move(stream)) {
    stream_->set_handler(*this);
  }

  void on_data(sim::Buffer& received) override {
    unread_ += received.take(received.size()).bytes();
    try {
      for (std::size_t newline = 0; (newline = unread_.find('\n')) != std::string::npos;) {
        listener_.queue_->put(parse_timer_request(std::string_view(unread_).substr(0, newline)));
        unread_.erase(0, newline + 1);
      }
      if (unread_.size() > kLineBytesMax) throw std::invalid_argument("a line without an end");
    } catch (const std::invalid_argument& error) {
      listener_.ports_.trace.emit(events::watchdog_failed, {"queue", error.what()});
      on_end();
    }
  }
  /// Destroys this.
  void on_end() override {
    HOOKE_CHECK(listener_.connections_.contains(number_), "a connection ends once");
    listener_.connections_.erase(number_);
  }

 private:
  TimerListener& listener_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::string unread_;
};

TimerListener::TimerListener(sim::Ports& ports, sim::PortNumber port,
                             std::shared_ptr<TimerQueue> queue)
    : ports_(ports), queue_(std::move(queue)) {
  HOOKE_CHECK(queue_ != nullptr, "what is heard is put into a queue");
  auto listener = ports.network.listen_loopback(port, *this);
  if (!listener) {
    throw std::runtime_error("the timer server cannot listen on port " +
                             std::to_string(port.value) + ": " +
                             std::string(to_string(listener.failure().fault)));
  }
  listener_ = std::move(listener).value();
  HOOKE_CHECK(listener_->local().port.value != 0, "a listener has a port");
}

TimerListener::~TimerListener() = default;

void TimerListener::on_accept(std::unique_ptr<sim::Stream> stream) {
  // What a client says has processes killed, as it could by itself: another user's could not.
  if (!stream->peer_is_of_this_user()) return stream->reset();
  const std::uint64_t number = next_connection_++;
  HOOKE_CHECK(stream != nullptr && !connections_.contains(number),
              "a connection that is accepted is a new one");
  connections_[number] = std::make_unique<Connection>(*this, number, std::move(stream));
}

QueueTimerClient::QueueTimerClient(sim::Ports& ports, sim::Endpoint server)
    : ports_(ports), server_(std::move(server)) {}

void QueueTimerClient::acquire(const std::string& scope_id, sim::WallTime expires) {
  send({ports_.processes.self().value, scope_id, expires});
  ports_.trace.emit(events::timer_acquired,
                    {scope_id, micros_of(expires), static_cast<int>(sim::Signal::kill)});
}

void QueueTimerClient::release(const std::string& scope_id) {
  send({ports_.processes.self().value, scope_id, std::nullopt});
  ports_.trace.emit(events::timer_released, {scope_id});
}

void QueueTimerClient::send(const TimerRequest& request) {
  HOOKE_CHECK(request.worker_id > 0, "a process asks for itself");
  if (stream_ == nullptr) {
    auto stream = ports_.network.connect(server_, ports_.clock.monotonic_now() + kConnectTimeout);
    if (!stream) {
      throw EscapedPythonError("BrokenPipeError",
                               "the timer server at " + server_.host + ":" +
                                   std::to_string(server_.port.value) + ": " +
                                   std::string(to_string(stream.failure().fault)));
    }
    stream_ = std::move(stream).value();
  }
  HOOKE_CHECK(stream_ != nullptr, "a request is sent on a connection");
  if (const auto sent = stream_->write(sim::Buffer(encode_timer_request(request) + "\n")); !sent) {
    stream_ = nullptr;
    throw EscapedPythonError("BrokenPipeError", "the timer server has gone");
  }
}

}  // namespace hooke::model
