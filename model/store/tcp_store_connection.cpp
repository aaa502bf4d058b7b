// connect() holds PyTorch's two nested loops; the rest is one message out, one reply in.
#include "model/store/tcp_store_connection.h"

#include "model/signals/interruptible_stream.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using sim::Duration;
using sim::MonotonicTime;

/// Longest value taken from a store, in bytes: a server never sends more than it was given, but
/// appending may exceed what one request can carry.
constexpr std::uint64_t kReplyBytesMax = 16 * kValueBytesMax;

}  // namespace

std::string describe(const sim::Endpoint& endpoint) {
  return endpoint.host + ":" + std::to_string(endpoint.port.value);
}

bool send_opening(sim::Stream& stream, std::uint32_t nonce) {
  // Each in one write: a server of PyTorch looks at whole packets (S-7).
  return stream.write(Message(Query::validate).u32(kValidateMagic).take()) &&
         stream.write(Message(Query::ping).u32(nonce).take());
}

// ---- connecting ---------------------------------------------------------------------------------

TcpStoreConnection::TcpStoreConnection(sim::Ports& ports, TcpStoreOptions options)
    : ports_(ports), options_(std::move(options)), timeout_(options_.timeout) {}

void TcpStoreConnection::open_first() {
  connect(options_.timeout);
  options_.pause = nullptr;  // later calls may come from another fiber
  HOOKE_CHECK(stream_ != nullptr, "a client that is made is connected");
}

void TcpStoreConnection::connect(Duration timeout) {
  HOOKE_CHECK(stream_ == nullptr, "only a client without a connection connects");
  Backoff backoff(ports_.random, options_.variant, longest_backoff());
  const MonotonicTime deadline = now() + timeout;
  for (;;) {
    if (options_.interruptible && ports_.processes.signal_pending()) {
      throw StoreNetworkError("a caught signal ends the attempts to reach the store at " +
                              describe(options_.endpoint));
    }
    auto stream = connect_socket(backoff, inner_timeout(timeout, deadline));
    if (stream != nullptr && open(*stream, deadline)) {
      HOOKE_CHECK(is_lost(), "one attempt makes the connection");
      stream_ = std::move(stream);
      received_ = {};
      return;
    }
    if (now() >= deadline || of_1_13()) {
      throw StoreNetworkError("the client could not connect to the store at " +
                              describe(options_.endpoint) + " in time");
    }
    pause_until(next_attempt(now() + backoff.next(), deadline));
  }
}

void TcpStoreConnection::pause_until(MonotonicTime until) {
  options_.pause ? options_.pause(until) : ports_.executor.sleep_until(until);
}

/// The inner loop: attempts on one socket with a deadline of its own; null when that has passed.
std::unique_ptr<sim::Stream> TcpStoreConnection::connect_socket(Backoff& backoff,
                                                                Duration timeout) {
  const MonotonicTime deadline = now() + timeout;
  for (;;) {
    auto stream = ports_.network.connect(options_.endpoint, attempt_end(deadline));
    if (stream) {
      return options_.interruptible ? interruptible(ports_, std::move(stream).value())
                                    : std::move(stream).value();
    }
    const sim::Fault fault = stream.failure().fault;
    if (fault == sim::Fault::closed) throw StoreNetworkError("the process is going down");
    if (fault == sim::Fault::timed_out || fault == sim::Fault::unreachable) return nullptr;
    const Duration delay = backoff.next();
    HOOKE_CHECK(delay >= Duration::zero(), "an attempt comes after the last one");
    if (now() + delay >= deadline) return nullptr;
    pause_until(now() + delay);
  }
}

bool TcpStoreConnection::open(sim::Stream& stream, MonotonicTime deadline) {
  if (of_1_13()) return true;
  HOOKE_CHECK(ports_.processes.self().value > 0, "a process has a number");
  const auto nonce = static_cast<std::uint32_t>(ports_.processes.self().value);
  if (!send_opening(stream, nonce)) return false;
  sim::Buffer echo;
  const auto until = first_answer_end(deadline);
  while (echo.size() < sizeof(nonce)) {
    auto more = stream.read(until);
    if (!more || more->empty()) return false;
    echo.append(std::move(more).value());
  }
  HOOKE_CHECK(echo.size() >= sizeof(nonce), "an echo is read when it is whole");
  return take_number<std::uint32_t>(echo) == nonce;
}

// ---- messages -----------------------------------------------------------------------------------

void TcpStoreConnection::broken(const std::string& why) {
  stream_.reset();
  received_ = {};
  throw StoreNetworkError(
      "the connection to the store at " + describe(options_.endpoint) + " is broken: " + why,
      std::exchange(in_doubt_, false));
}

void TcpStoreConnection::send(Message& message) {
  in_doubt_ = false;
  reconnect_if_lost();
  if (stream_ == nullptr) broken("an earlier call lost it");
  std::unique_ptr<sim::Stream> stream = std::move(stream_);
  // What a server has sent unasked is taken for the beginning of the next answer, as from PyTorch's
  // socket (S-1).
  HOOKE_CHECK(stream != nullptr, "a request is sent on a connection");
  auto written = stream->write(message.take());
  if (!written) broken(std::string(to_string(written.failure().fault)));
  stream_ = std::move(stream);
}

void TcpStoreConnection::send_change(Message& message) {
  send(message);
  HOOKE_CHECK(stream_ != nullptr, "a change that was sent is in doubt");
  in_doubt_ = true;
}

bool TcpStoreConnection::receive(std::size_t count, std::optional<MonotonicTime> deadline) {
  const auto until = deadline ? deadline : request_deadline();
  std::unique_ptr<sim::Stream> stream = std::move(stream_);
  HOOKE_CHECK(stream != nullptr, "an answer is waited for on a connection");
  bool in_time = true;
  while (in_time && received_.size() < count) {
    auto more = stream->read(until);
    if (more) {
      if (more->empty()) broken("the store has closed it");
      received_.append(std::move(more).value());
    } else {
      in_time = more.failure().fault != sim::Fault::timed_out || !deadline;
      if (in_time) broken(std::string(to_string(more.failure().fault)));
    }
  }
  stream_ = std::move(stream);
  HOOKE_CHECK(stream_ != nullptr && (!in_time || received_.size() >= count),
              "what is received in time is whole");
  return in_time;
}

Value TcpStoreConnection::value() {
  const auto length = number<std::uint64_t>();
  if (length > kReplyBytesMax) broken("a reply of " + std::to_string(length) + " bytes");
  receive(static_cast<std::size_t>(length), std::nullopt);
  HOOKE_CHECK(received_.size() >= length, "a value is read when it is whole");
  return received_.take(static_cast<std::size_t>(length));
}

void TcpStoreConnection::expect(std::uint8_t expected) {
  const auto answer = number<std::uint8_t>();
  if (answer == expected) return;
  throw StoreError("the store answered " + std::to_string(answer) + " where " +
                   std::to_string(expected) + " was expected");
}

}  // namespace hooke::model
