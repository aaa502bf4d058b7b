// One connection for the life of the agent. Ends of workers come between the answers, unasked.
#include "model/worker/pool_launcher.h"

#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "model/signals/signal_gate.h"
#include "model/worker/pool_wire.h"
#include "model/worker/worker_pool.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kTimeout = 30s;
constexpr sim::Duration kLook = 100ms;

sim::Fault fault_named(const std::string& name) {
  constexpr std::array kFaults{sim::Fault::not_found, sim::Fault::denied, sim::Fault::no_space,
                               sim::Fault::exists};
  for (const sim::Fault fault : kFaults) {
    if (to_string(fault) == name) return fault;
  }
  return sim::Fault::denied;
}

class PoolLauncher final : public ProcessLauncher, public sim::StreamHandler {
 public:
  PoolLauncher(sim::Ports& ports, sim::Endpoint pool)
      : ports_(ports), pool_(std::move(pool)), news_(ports.executor) {}

  void reserve(std::int64_t count) override {
    HOOKE_CHECK(count > 0, "room is for one worker at least");
    connect();
    // Others may hold the slots for as long as they like: an agent that waits can be told to end.
    const PoolMessage answer = ask({"lease", std::to_string(count)}, std::nullopt);
    if (answer.front() == "leased") return;
    throw std::runtime_error("the worker pool refuses " + std::to_string(count) +
                             " workers: " + (answer.size() > 1 ? answer[1] : ""));
  }

  sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) override {
    HOOKE_CHECK(!request.argv.empty(), "a worker has a command");
    PoolMessage message{"start", request.new_session ? "1" : "0", request.stdout_path,
                        request.stderr_path, std::to_string(request.argv.size())};
    message.insert(message.end(), request.argv.begin(), request.argv.end());
    for (const auto& [name, value] : request.environment) {
      message.push_back(name);
      message.push_back(value);
    }
    const PoolMessage answer = ask(message, kTimeout);
    if (answer.front() == "started" && answer.size() == 2) return pid_of(answer[1]);
    return failure(answer);
  }

  std::optional<sim::ExitStatus> poll(sim::Pid worker) override {
    HOOKE_CHECK(worker.value > 0, "a worker that is asked for has a number");
    const auto found = ended_.find(worker);
    if (found == ended_.end()) {
      if (stream_ == nullptr || over_) throw std::runtime_error(kGone);
      return std::nullopt;
    }
    const sim::ExitStatus status = found->second;
    ended_.erase(found);
    return status;
  }

  sim::Outcome<sim::Done> signal(sim::Pid worker, sim::Signal signal, bool group) override {
    HOOKE_CHECK(worker.value > 0, "a worker that is signalled has a number");
    const PoolMessage answer = ask({"signal", std::to_string(worker.value),
                                    std::to_string(static_cast<int>(signal)), group ? "1" : "0"},
                                   kTimeout);
    if (answer.front() == "signalled") return sim::Done{};
    return failure(answer);
  }

  void release() override {
    if (stream_ == nullptr || over_) return;
    static_cast<void>(ask({"release"}, kTimeout));
    ended_.clear();  // numbers may come again
  }

  void on_data(sim::Buffer& received) override {
    try {
      while (auto message = take_pool_message(received)) heard(std::move(*message));
    } catch (const std::invalid_argument&) {
      on_end();  // a process that speaks there is no pool
    }
  }
  void on_end() override {
    over_ = true;
    news_.wake_all();
  }

 private:
  static constexpr const char* kGone = "the worker pool has gone, and the workers are its own";

  static sim::Pid pid_of(const std::string& text) {
    return sim::Pid{static_cast<std::int32_t>(pool_number(text, 1, kLargestPoolPid))};
  }
  static sim::Failure failure(const PoolMessage& answer) {
    if (answer.front() != "failed" || answer.size() != 3) throw std::runtime_error(kGone);
    return sim::Failure{fault_named(answer[1]), answer[2], false};
  }

  void heard(PoolMessage message) {
    HOOKE_CHECK(!message.empty(), "a message that was read has a verb");
    if (message.front() == "ended" && message.size() == 4) {
      sim::ExitStatus status;
      status.code = static_cast<int>(pool_number(message[2], 0, 255));
      const std::int64_t signal = pool_number(message[3], 0, 64);
      if (signal != 0) status.signal = static_cast<sim::Signal>(static_cast<int>(signal));
      ended_[pid_of(message[1])] = status;
      return;
    }
    answers_.push_back(std::move(message));
    news_.wake_all();
  }

  /// The pool may be about to start, on a machine that has just come up.
  void connect() {
    if (stream_ != nullptr) return;
    const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + kTimeout;
    for (;;) {
      auto stream = ports_.network.connect(pool_, give_up);
      if (stream) {
        stream_ = std::move(stream).value();
        HOOKE_CHECK(stream_ != nullptr, "a connection that was made is there");
        stream_->set_handler(*this);
        return;
      }
      if (ports_.clock.monotonic_now() + kLook >= give_up) {
        throw std::runtime_error("there is no worker pool at " + pool_.host + ":" +
                                 std::to_string(pool_.port.value) + ": " +
                                 std::string(to_string(stream.failure().fault)));
      }
      interruptible_sleep(ports_, kLook);
    }
  }

  /// Without `timeout` the wait has no end, but takes signals.
  PoolMessage ask(const PoolMessage& message, std::optional<sim::Duration> timeout) {
    HOOKE_CHECK(!timeout || *timeout > sim::Duration::zero(), "an answer takes its time");
    if (stream_ == nullptr || over_ || !stream_->write(sim::Buffer(encode_pool_message(message)))) {
      lost();
    }
    const sim::MonotonicTime begin = ports_.clock.monotonic_now();
    while (answers_.empty()) {
      if (over_ || (timeout && ports_.clock.monotonic_now() >= begin + *timeout)) lost();
      static_cast<void>(news_.wait(ports_.clock.monotonic_now() + kLook));
      if (!timeout) check_signals(ports_);
    }
    PoolMessage answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  [[noreturn]] void lost() {
    stream_ = nullptr;  // with it the pool ends what this agent had
    throw std::runtime_error(kGone);
  }

  sim::Ports& ports_;
  sim::Endpoint pool_;
  sim::WaitQueue news_;
  std::deque<PoolMessage> answers_;
  std::map<sim::Pid, sim::ExitStatus> ended_;
  bool over_ = false;
  std::unique_ptr<sim::Stream> stream_;
};

}  // namespace

std::unique_ptr<ProcessLauncherKind> pool_launcher_kind(const PluginChoice& choice) {
  choice.allow({"host", "port"});
  const auto port = static_cast<std::uint16_t>(choice.integer("port", 1, 65'535, kWorkerPoolPort));
  const sim::Endpoint pool{choice.text("host", "localhost"), sim::PortNumber{port}};
  return std::make_unique<ProcessLauncherKind>(ProcessLauncherKind{
      [pool](sim::Ports& ports) { return std::make_unique<PoolLauncher>(ports, pool); }});
}

}  // namespace hooke::model
