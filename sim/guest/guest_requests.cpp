// What a thread of a guest asks of its machine.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "sim/guest/guest_process.h"
#include "sim/port/check.h"

namespace hooke::guest {
namespace {

constexpr int kNoSuchProcess = 3;  ///< ESRCH, as the guest raises it

/// A deadline as the guest gives it: nanoseconds of its monotonic clock, -1 for none.
std::optional<sim::MonotonicTime> deadline_of(const Message& message) {
  const std::int64_t at = message.number();
  if (at < 0) return std::nullopt;
  return sim::MonotonicTime(sim::Duration(at));
}

/// The number as one from `low` to `high`.
std::int64_t number_within(const Message& message, std::int64_t low, std::int64_t high) {
  const std::int64_t number = message.number();
  if (number >= low && number <= high) return number;
  throw GuestError("the guest sent " + std::to_string(number) + ", expected a number from " +
                   std::to_string(low) + " to " + std::to_string(high));
}

sim::Pid pid_of(const Message& message) {
  using Limits = std::numeric_limits<std::int32_t>;
  return sim::Pid{static_cast<std::int32_t>(number_within(message, Limits::min(), Limits::max()))};
}

sim::PortNumber port_of(const Message& message) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();
  return sim::PortNumber{static_cast<std::uint16_t>(number_within(message, 0, kMost))};
}

}  // namespace

struct GuestProcess::Handler {
  std::string_view name;
  Method method;
};

GuestProcess::Answer GuestProcess::perform(std::size_t slot, const Message::List& request) {
  using G = GuestProcess;
  static constexpr std::array kHandlers{
      Handler{"park", &G::on_park},
      Handler{"spawn", &G::on_spawn},
      Handler{"poll", &G::on_poll},
      Handler{"wait", &G::on_wait},
      Handler{"kill", &G::on_kill},
      Handler{"killpg", &G::on_kill_group},
      Handler{"resolve", &G::on_resolve},
      Handler{"listen", &G::on_listen},
      Handler{"unlisten", &G::on_close_listener},
      Handler{"seed", &G::on_seed},
      Handler{"mkfifo", &G::on_make_fifo},
      Handler{"exists", &G::on_exists},
      Handler{"kind", &G::on_kind},
      Handler{"remove", &G::on_remove},
      Handler{"mkdir", &G::on_make_directory},
      Handler{"makedirs", &G::on_make_directories},
      Handler{"rmtree", &G::on_remove_tree},
      Handler{"listdir", &G::on_list},
      Handler{"read", &G::on_read},
      Handler{"write", &G::on_write},
      Handler{"open_fifo", &G::on_open_fifo},
      Handler{"read_fifo", &G::on_read_fifo},
      Handler{"close_fifo", &G::on_close_fifo},
      Handler{"fail", &G::on_fail},
  };
  HOOKE_CHECK(!request.empty(), "a request begins with its name");
  const std::string& name = request.front().text();
  const Message arguments(Message::List(request.begin() + 1, request.end()));
  const auto* const found =
      std::find_if(kHandlers.begin(), kHandlers.end(),
                   [&](const Handler& handler) { return handler.name == name; });
  if (found == kHandlers.end()) return {services_.request(name, arguments)};
  return (this->*found->method)(slot, arguments);
}

// ---- waiting ------------------------------------------------------------------------------------

GuestProcess::Answer GuestProcess::park(std::size_t slot,
                                        const std::optional<sim::MonotonicTime>& deadline) {
  Thread& thread = threads_[slot];
  HOOKE_CHECK(!thread.parked, "a thread waits for one thing at a time");
  // One that has come since the last answer interrupts the wait before it begins.
  if (slot == 0 && !signals_.empty()) return {{}, Reason::signalled};
  const sim::ParkTicket ticket = ports_.executor.ticket();
  thread.parked = ticket;
  const sim::Wake wake = ports_.executor.park(ticket, deadline);
  HOOKE_CHECK(wake != sim::Wake::woken || !thread.parked, "what wakes a thread takes its ticket");
  thread.parked.reset();
  return {{}, wake == sim::Wake::woken ? thread.reason : Reason::timed_out};
}

GuestProcess::Answer GuestProcess::on_park(std::size_t slot, const Message& arguments) {
  return park(slot, deadline_of(arguments.at(0)));
}

// ---- processes ----------------------------------------------------------------------------------

GuestProcess::Answer GuestProcess::on_spawn(std::size_t, const Message& arguments) {
  sim::SpawnRequest request;
  for (const Message& argument : arguments.at(0).list()) request.argv.push_back(argument.text());
  for (const Message& variable : arguments.at(1).list()) {
    request.environment[variable.at(0).text()] = variable.at(1).text();
  }
  request.new_session = arguments.at(2).truth();
  const auto started = ports_.processes.spawn(request);
  if (!started) return {Message::List{false, started.failure().detail}};
  const sim::Pid child = started.value();
  HOOKE_CHECK(child.value > 0, "a process that runs has a number");
  children_.insert(child);
  reaped_.erase(child);
  services_.on_spawned(child, request);
  return {Message::List{true, std::int64_t{child.value}}};
}

/// Those that have ended and of which the guest has not been told yet; it reaps them when it asks.
Message::List GuestProcess::ended_children() {
  Message::List out;
  std::erase_if(children_, [&](sim::Pid child) {
    const bool ended = reaped_.contains(child) || ports_.processes.state(child) == 'Z';
    HOOKE_CHECK(child.value > 0, "a child has a number");
    if (ended) out.emplace_back(std::int64_t{child.value});
    return ended;
  });
  return out;
}

std::optional<sim::ExitStatus> GuestProcess::reap(sim::Pid child) {
  const auto known = reaped_.find(child);
  if (known != reaped_.end()) return known->second;
  const auto status = ports_.processes.poll(child);
  if (!status) return std::nullopt;
  reaped_[child] = *status;
  services_.on_reaped(child, status->as_python());
  return status;
}

GuestProcess::Answer GuestProcess::on_poll(std::size_t, const Message& arguments) {
  const auto status = reap(pid_of(arguments.at(0)));
  return {status ? Message(status->as_python()) : Message()};
}

/// Another fiber waits at the port, because a signal must be able to end the main thread's wait.
GuestProcess::Answer GuestProcess::on_wait(std::size_t slot, const Message& arguments) {
  const sim::Pid child = pid_of(arguments.at(0));
  if (const auto status = reap(child)) return {status->as_python()};
  if (waited_for_.insert(child).second) {
    static_cast<void>(ports_.executor.spawn(
        "python waits for " + std::to_string(child.value), [this, child, slot] {
          const auto status = ports_.processes.wait(child, std::nullopt);
          const std::size_t waited = waited_for_.erase(child);
          HOOKE_CHECK(waited == 1, "one fiber waits for a child");
          if (status) {
            reaped_[child] = *status;
            services_.on_reaped(child, status->as_python());
          }
          wake(slot, Reason::done);
        }));
  }
  HOOKE_CHECK(waited_for_.contains(child), "a fiber waits for the child meanwhile");
  Answer answer = park(slot, deadline_of(arguments.at(1)));
  if (const auto status = reap(child)) answer = {status->as_python()};
  return answer;
}

GuestProcess::Answer GuestProcess::signal(const Message& arguments, bool group) {
  const sim::Pid target = pid_of(arguments.at(0));
  const auto signal = static_cast<sim::Signal>(arguments.at(1).number());
  if (signal != sim::Signal::none && to_string(signal) == "SIG?") {
    throw GuestError("a guest sends signal " + std::to_string(arguments.at(1).number()) +
                     ", which the world does not have");
  }
  if (signal != sim::Signal::none) services_.on_signalled(target, signal, group);
  const auto sent = group ? ports_.processes.signal_group(target, signal)
                          : ports_.processes.signal(target, signal);
  return {sent ? 0 : kNoSuchProcess};
}

GuestProcess::Answer GuestProcess::on_kill(std::size_t, const Message& arguments) {
  return signal(arguments, false);
}

GuestProcess::Answer GuestProcess::on_kill_group(std::size_t, const Message& arguments) {
  return signal(arguments, true);
}

// ---- the network, randomness --------------------------------------------------------------------

/// The canonical name and the addresses; None where the name has no address.
GuestProcess::Answer GuestProcess::on_resolve(std::size_t, const Message& arguments) {
  const std::string& host = arguments.at(0).text();
  const auto addresses = ports_.network.resolve(host);
  if (!addresses) return {};
  const auto canonical = ports_.network.canonical_name(host);
  Message::List out;
  for (const std::string& address : addresses.value()) out.emplace_back(address);
  return {Message::List{canonical ? canonical.value() : host, std::move(out)}};
}

/// The port; None where it is taken.
GuestProcess::Answer GuestProcess::on_listen(std::size_t, const Message& arguments) {
  const sim::PortNumber wanted = port_of(arguments.at(0));
  auto listener = ports_.network.listen(wanted, refuser_);
  if (!listener) return {};
  const sim::PortNumber port = listener.value()->local().port;
  HOOKE_CHECK(port.value != 0, "a listener has a port");
  HOOKE_CHECK(wanted.value == 0 || port == wanted, "it is the one that was asked for");
  listeners_[port] = std::move(listener).value();
  return {std::int64_t{port.value}};
}

GuestProcess::Answer GuestProcess::on_close_listener(std::size_t, const Message& arguments) {
  listeners_.erase(port_of(arguments.at(0)));
  return {};
}

/// For all that Python draws by itself.
GuestProcess::Answer GuestProcess::on_seed(std::size_t, const Message&) {
  constexpr std::uint64_t kBound = std::uint64_t{1} << 62U;
  const std::uint64_t seed = ports_.random.below("guest.seed", kBound);
  HOOKE_CHECK(seed < kBound, "a draw is below its bound");
  return {static_cast<std::int64_t>(seed)};
}

GuestProcess::Answer GuestProcess::on_fail(std::size_t slot, const Message& arguments) {
  throw GuestError("thread \"" + threads_[slot].name + "\" of the guest on " +
                   ports_.network.host_name() + " " + arguments.at(0).text());
}

}  // namespace hooke::guest
