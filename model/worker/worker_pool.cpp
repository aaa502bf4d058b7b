// The actor is a fiber with a mailbox: connections only put messages into it, in the order in which
// they come, and everything that touches processes happens in run().
#include "model/worker/worker_pool.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model/observe/pool_events.h"
#include "model/worker/pool_wire.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Between two looks at processes that run.
constexpr sim::Duration kLookAtWorkers = 50ms;

}  // namespace

class WorkerPool::Impl final : public sim::AcceptHandler {
 public:
  Impl(sim::Ports& ports, sim::PortNumber port, std::int64_t slots)
      : ports_(ports), slots_(slots), free_(slots), mail_(ports.executor) {
    HOOKE_CHECK(slots > 0, "a pool has slots");
    auto listener = ports.network.listen(port, *this);
    if (!listener) {
      throw std::runtime_error("the worker pool cannot listen on port " +
                               std::to_string(port.value) + ": " +
                               std::string(to_string(listener.failure().fault)));
    }
    listener_ = std::move(listener).value();
    HOOKE_CHECK(listener_->local().port.value != 0, "a pool has a port that can be reached");
  }

  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }

  /// A client starts processes, which it must be able to do without us: another machine's or
  /// another user's is not heard.
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    HOOKE_CHECK(stream != nullptr, "a connection that is accepted is there");
    if (!stream->peer_is_of_this_user()) return stream->reset();
    const std::uint64_t number = next_owner_++;
    HOOKE_CHECK(!connections_.contains(number), "a connection has a number of its own");
    connections_[number] = std::make_unique<Connection>(*this, number, std::move(stream));
  }

  void run() {
    sim::Scope scope(ports_.executor);
    scope.spawn("end of the pool", [this] {
      static_cast<void>(ports_.processes.wait_signal(std::nullopt));
      ended_ = true;
      mail_.close();
    });
    while (!ended_) {
      std::optional<sim::MonotonicTime> next_look;
      if (anything_runs()) next_look = ports_.clock.monotonic_now() + kLookAtWorkers;
      if (auto letter = mail_.pop(next_look)) handle(*letter);
      look();
    }
    for (auto& [number, owner] : owners_) end_all(owner);
    scope.join();
    HOOKE_CHECK(!anything_runs(), "a pool that ends leaves no worker");
  }

 private:
  struct Letter {
    std::uint64_t owner = 0;
    PoolMessage message;  ///< empty: the owner has gone
  };
  struct Owner {
    std::int64_t leased = 0;
    std::vector<sim::Pid> running;
  };

  class Connection final : public sim::StreamHandler {
   public:
    Connection(Impl& pool, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
        : pool_(pool), number_(number), stream_(std::move(stream)) {
      stream_->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      if (ended_) return;
      try {
        while (auto message = take_pool_message(received))
          pool_.mail_.push({number_, std::move(*message)});
      } catch (const std::invalid_argument&) {
        on_end();
      }
    }
    /// The actor takes the connection down, after what it had said before.
    void on_end() override {
      if (!std::exchange(ended_, true)) pool_.mail_.push({number_, {}});
    }
    void say(const PoolMessage& message) {
      static_cast<void>(stream_->write(sim::Buffer(encode_pool_message(message))));
    }

   private:
    Impl& pool_;
    std::uint64_t number_;
    std::unique_ptr<sim::Stream> stream_;
    bool ended_ = false;
  };

  [[nodiscard]] bool anything_runs() const {
    return std::any_of(owners_.begin(), owners_.end(),
                       [](const auto& owner) { return !owner.second.running.empty(); });
  }

  void say(std::uint64_t owner, const PoolMessage& message) {
    const auto found = connections_.find(owner);
    if (found != connections_.end()) found->second->say(message);
  }

  void handle(const Letter& letter) {
    HOOKE_CHECK(0 < letter.owner && letter.owner < next_owner_, "a letter is from a connection");
    if (!connections_.contains(letter.owner)) return;
    if (letter.message.empty()) return gone(letter.owner);
    try {
      act(letter.owner, letter.message);
    } catch (const std::invalid_argument&) {
      gone(letter.owner);  // speaks no language of ours
    }
  }

  void act(std::uint64_t number, const PoolMessage& message) {
    const std::string& verb = message.front();
    if (verb == "lease" && message.size() == 2) {
      lease(number, pool_number(message[1], 1, kLargestPoolPid));
    } else if (verb == "start" && message.size() >= 5) {
      start(number, message);
    } else if (verb == "signal" && message.size() == 4) {
      signal(number, message);
    } else if (verb == "release" && message.size() == 1) {
      give_back(number);
      say(number, {"released"});
    } else {
      throw std::invalid_argument("expected lease, start, signal or release");
    }
  }

  void lease(std::uint64_t number, std::int64_t count) {
    if (count > slots_) {
      return say(number, {"refused", "it has " + std::to_string(slots_) + " slots"});
    }
    if (owners_[number].leased > 0 || waits(number)) throw std::invalid_argument("a second lease");
    HOOKE_CHECK(count >= 1 && count <= slots_, "a lease that waits can be had");
    waiting_.push_back({number, count});
    grant();
  }

  [[nodiscard]] bool waits(std::uint64_t number) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [number](const auto& each) { return each.first == number; });
  }
  [[nodiscard]] std::int64_t leased() const {
    std::int64_t slots = 0;
    for (const auto& [number, owner] : owners_) slots += owner.leased;
    return slots;
  }
  /// First come, first served: a large lease is not passed by small ones.
  void grant() {
    while (!waiting_.empty() && waiting_.front().second <= free_) {
      const auto [number, count] = waiting_.front();
      HOOKE_CHECK(count > 0 && count <= free_ && free_ <= slots_,
                  "a lease is of slots that are free");
      waiting_.pop_front();
      free_ -= count;
      HOOKE_CHECK(owners_[number].leased == 0, "an owner has one lease");
      owners_[number].leased = count;
      HOOKE_CHECK(leased() + free_ == slots_, "a slot is leased or free");
      ports_.trace.emit(events::pool_leased, {number, count, free_});
      say(number, {"leased"});
    }
  }

  void start(std::uint64_t number, const PoolMessage& message) {
    const std::size_t arguments =
        static_cast<std::size_t>(pool_number(message[4], 1, std::int64_t{kPoolTextsMax}));
    const std::size_t rest = message.size() - 5;
    if (arguments > rest || (rest - arguments) % 2 != 0)
      throw std::invalid_argument("expected as many arguments as announced, then pairs");
    Owner& owner = owners_[number];
    if (static_cast<std::int64_t>(owner.running.size()) >= owner.leased)
      throw std::invalid_argument("a worker beyond the lease");
    sim::SpawnRequest request;
    request.new_session = message[1] == "1";
    request.stdout_path = message[2];
    request.stderr_path = message[3];
    const auto first = message.begin() + 5;
    const auto names = first + static_cast<std::ptrdiff_t>(arguments);
    request.argv.assign(first, names);
    for (auto pair = names; pair != message.end(); pair += 2) request.environment[*pair] = pair[1];
    auto pid = ports_.processes.spawn(request);
    if (!pid) {
      return say(number,
                 {"failed", std::string(to_string(pid.failure().fault)), pid.failure().detail});
    }
    HOOKE_CHECK(pid.value().value > 0, "a worker that was started has a number");
    owner.running.push_back(pid.value());
    HOOKE_CHECK(std::ssize(owner.running) <= owner.leased, "a lease runs no more than its slots");
    say(number, {"started", std::to_string(pid.value().value)});
  }

  void signal(std::uint64_t number, const PoolMessage& message) {
    const sim::Pid pid{static_cast<std::int32_t>(pool_number(message[1], 1, kLargestPoolPid))};
    const auto signal = static_cast<sim::Signal>(static_cast<int>(pool_number(message[2], 0, 64)));
    const auto& running = owners_[number].running;
    if (std::find(running.begin(), running.end(), pid) == running.end()) {
      return say(number, {"failed", std::string(to_string(sim::Fault::not_found)),
                          "no worker of this lease"});
    }
    const auto sent = message[3] == "1" ? ports_.processes.signal_group(pid, signal)
                                        : ports_.processes.signal(pid, signal);
    if (sent) return say(number, {"signalled"});
    say(number, {"failed", std::string(to_string(sent.failure().fault)), sent.failure().detail});
  }

  /// Tells owners of workers that have ended. What one has left behind goes with it, now that its
  /// number still is that of its group: the agent, which hears of it later, may not ask for that any
  /// more, and the next lease must find the slot free.
  void look() {
    for (auto& [number, owner] : owners_) {
      const std::uint64_t whose = number;
      HOOKE_CHECK(std::ssize(owner.running) <= owner.leased, "a lease runs no more than its slots");
      std::erase_if(owner.running, [&](sim::Pid pid) {
        const auto ended = ports_.processes.poll(pid);
        if (!ended) return false;
        static_cast<void>(ports_.processes.signal_group(pid, sim::Signal::kill));
        say(whose, {"ended", std::to_string(pid.value), std::to_string(ended->code),
                    std::to_string(ended->signal ? static_cast<int>(*ended->signal) : 0)});
        return true;
      });
    }
  }

  void end_all(Owner& owner) {
    HOOKE_CHECK(std::all_of(owner.running.begin(), owner.running.end(),
                            [](sim::Pid pid) { return pid.value > 0; }),
                "a group that is killed is that of a worker, never the pool's own");
    for (const sim::Pid pid : owner.running)
      static_cast<void>(ports_.processes.signal_group(pid, sim::Signal::kill));
    for (const sim::Pid pid : owner.running)
      static_cast<void>(ports_.processes.wait(pid, ports_.clock.monotonic_now() + 1s));
    owner.running.clear();
  }

  void give_back(std::uint64_t number) {
    const auto found = owners_.find(number);
    if (found == owners_.end()) return;
    const std::size_t killed = found->second.running.size();
    end_all(found->second);
    free_ += found->second.leased;
    HOOKE_CHECK(free_ <= slots_, "no more slots are free than there are");
    HOOKE_CHECK(found->second.leased >= 0, "slots are leased or not");
    if (found->second.leased > 0)
      ports_.trace.emit(events::pool_reclaimed, {number, found->second.leased, killed});
    HOOKE_CHECK(found->second.running.empty(), "a lease that is given back runs nothing");
    owners_.erase(found);
    HOOKE_CHECK(leased() + free_ == slots_, "a slot is leased or free");
    grant();
  }

  void gone(std::uint64_t number) {
    std::erase_if(waiting_, [&](const auto& each) { return each.first == number; });
    connections_.erase(number);
    give_back(number);
    HOOKE_CHECK(!owners_.contains(number) && !waits(number), "an owner that has gone has nothing");
  }

  sim::Ports& ports_;
  std::int64_t slots_;
  std::int64_t free_;
  bool ended_ = false;
  sim::Channel<Letter> mail_;
  std::map<std::uint64_t, Owner> owners_;
  std::deque<std::pair<std::uint64_t, std::int64_t>> waiting_;  ///< owner and slots wanted
  std::uint64_t next_owner_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<sim::Listener> listener_;
};

WorkerPool::WorkerPool(sim::Ports& ports, sim::PortNumber port, std::int64_t slots)
    : impl_(std::make_unique<Impl>(ports, port, slots)) {}
WorkerPool::~WorkerPool() = default;
sim::PortNumber WorkerPool::port() const {
  return impl_->port();
}
void WorkerPool::run() {
  impl_->run();
}

}  // namespace hooke::model
