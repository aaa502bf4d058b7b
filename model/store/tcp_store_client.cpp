// The client. connect() holds PyTorch's two nested loops; each operation takes the client's one
// mutex, writes one message and reads its reply.
#include <algorithm>
#include <mutex>

#include "model/signals/interruptible_stream.h"
#include "model/store/backoff.h"
#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using sim::Duration;
using sim::MonotonicTime;

/// Longest value taken from a store, in bytes: a server never sends more than it was given, but
/// appending may exceed what one request can carry.
constexpr std::uint64_t kReplyBytesMax = 16 * kValueBytesMax;

/// How long a hardened client tries to reach a store that it has lost, and how long each attempt
/// may take, with the store's first answer: an agent is deaf meanwhile.
constexpr Duration kReconnectTimeout = std::chrono::seconds(5);

std::string describe(const sim::Endpoint& endpoint) {
  return endpoint.host + ":" + std::to_string(endpoint.port.value);
}

/// "/a, /b": the keys of a wait as PyTorch's message lists them.
std::string join_keys(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "/" : ", /") + key;
  return out;
}

/// What a 2.x client says first; false when the connection is broken.
bool send_opening(sim::Stream& stream, std::uint32_t nonce) {
  // Each in one write: a server of PyTorch looks at whole packets (S-7).
  return stream.write(Message(Query::validate).u32(kValidateMagic).take()) &&
         stream.write(Message(Query::ping).u32(nonce).take());
}

class Client final : public Store {
 public:
  Client(sim::Ports& ports, TcpStoreOptions options)
      : ports_(ports),
        options_(std::move(options)),
        timeout_(options_.timeout),
        mutex_(ports.executor) {
    connect(options_.timeout);
    options_.pause = nullptr;  // whoever calls later may be another fiber
    if (options_.count_in) static_cast<void>(count_in(1));
  }
  /// Adds to the counter of clients, whose key has no slash before it.
  std::int64_t count_in(std::int64_t clients) {
    const std::lock_guard lock(mutex_);
    send_change(request(Query::add).text("init/").i64(clients));
    return number<std::int64_t>();
  }

  void set(const std::string& key, Value value) override;
  Value get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;
  Value compare_set(const std::string& key, const Value& expected, const Value& desired) override;
  void wait(const std::vector<std::string>& keys, std::optional<Duration> timeout) override;
  bool check(const std::vector<std::string>& keys) override;
  void append(const std::string& key, Value value) override;
  std::vector<Value> multi_get(const std::vector<std::string>& keys) override;
  void multi_set(const std::vector<std::pair<std::string, Value>>& items) override;
  bool delete_key(const std::string& key) override;
  std::int64_t num_keys() override;
  [[nodiscard]] Duration timeout() const override { return timeout_; }
  void set_timeout(Duration timeout) override { timeout_ = timeout; }
  [[nodiscard]] std::uint64_t repeats() const override { return repeats_; }

 private:
  void connect(Duration timeout);
  void pause_until(MonotonicTime until);
  std::unique_ptr<sim::Stream> connect_socket(Backoff& backoff, Duration timeout);
  /// Opens the protocol on a fresh stream; false when the connection broke while doing so.
  bool open(sim::Stream& stream, MonotonicTime deadline);

  void reconnect_if_lost();
  /// Does what may be done twice; hardened, a second time on a new connection when the first one
  /// has broken.
  template <class Call>
  auto persistently(Call call) -> decltype(call());
  /// Sends a request that reads, or one that changes the store: if the reply to that is lost,
  /// nobody can tell what became of it.
  void send(Message& message);
  void send(Message&& message) { send(message); }
  void send_change(Message& message);
  /// Hardened: asks for a key that has been set. A set is answered by nothing: if it is lost with
  /// its connection, this breaks, and both are done again (S-2).
  void confirm(const std::string& key);
  /// Blocks until `count` bytes have come. False at the deadline; without one for ever (S-23), or
  /// until the limit of replies or a hardened client's time-out breaks the connection.
  bool receive(std::size_t count, std::optional<MonotonicTime> deadline);
  template <class T>
  T number() {
    receive(sizeof(T), std::nullopt);
    return take_number<T>(received_);
  }
  Value value();
  /// Reads a one-byte answer; StoreError when it is another one than `expected`.
  void expect(std::uint8_t expected);
  void wait_locked(const std::vector<std::string>& keys, Duration timeout);
  /// False: the time was over.
  bool wait_once(const std::vector<std::string>& keys, Duration timeout);
  [[noreturn]] void broken(const std::string& why);
  [[nodiscard]] bool of_1_13() const { return options_.variant == Variant::torch_1_13; }
  [[nodiscard]] bool hardened() const { return options_.variant == Variant::hardened; }
  /// Until when a reply is waited for that no caller has set a limit to.
  [[nodiscard]] std::optional<MonotonicTime> request_deadline() const {
    std::optional<Duration> limit = options_.reply_limit;
    if (hardened()) {
      limit = std::min({timeout_, options_.reply_timeout, limit.value_or(options_.reply_timeout)});
    }
    if (!limit) return std::nullopt;
    return ports_.clock.monotonic_now() + *limit;
  }
  [[nodiscard]] Message request(Query query) const { return Message(query, options_.variant); }
  [[nodiscard]] Message key_list(Query query, const std::vector<std::string>& keys) const;

  sim::Ports& ports_;
  TcpStoreOptions options_;
  Duration timeout_;
  sim::Mutex mutex_;  ///< held for the whole of a call, waits included (rendezvous R-39)
  /// Null once broken; only hardened ones connect anew. A thread that dies in the middle of a call
  /// takes it along, since the answer that comes then is not for whoever asks next.
  std::unique_ptr<sim::Stream> stream_;
  sim::Buffer received_;
  bool in_doubt_ = false;  ///< a change has been sent and its reply has not come
  std::uint64_t repeats_ = 0;
};

// ---- connecting
// ------------------------------------------------------------------------------------

void Client::connect(Duration timeout) {
  Backoff backoff(ports_.random, options_.variant);
  const MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
  for (;;) {
    if (options_.interruptible && ports_.processes.signal_pending()) {
      throw StoreNetworkError("a caught signal ends the attempts to reach the store at " +
                              describe(options_.endpoint));
    }
    // The inner loop has the whole time again, so that PyTorch takes twice as long.
    auto stream =
        connect_socket(backoff, hardened() ? deadline - ports_.clock.monotonic_now() : timeout);
    if (stream != nullptr && open(*stream, deadline)) {
      stream_ = std::move(stream);
      received_ = {};
      return;
    }
    if (ports_.clock.monotonic_now() >= deadline || of_1_13()) {
      throw StoreNetworkError("the client could not connect to the store at " +
                              describe(options_.endpoint) + " in time");
    }
    const MonotonicTime again = ports_.clock.monotonic_now() + backoff.next();
    pause_until(hardened() ? std::min(again, deadline) : again);
  }
}

void Client::pause_until(MonotonicTime until) {
  options_.pause ? options_.pause(until) : ports_.executor.sleep_until(until);
}

/// The inner loop: attempts on one socket with a deadline of its own; null when that has passed.
std::unique_ptr<sim::Stream> Client::connect_socket(Backoff& backoff, Duration timeout) {
  const MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
  for (;;) {
    const MonotonicTime slice = ports_.clock.monotonic_now() + kReconnectTimeout;
    auto stream = ports_.network.connect(options_.endpoint,
                                         hardened() ? std::min(slice, deadline) : deadline);
    if (stream) {
      return options_.interruptible ? interruptible(ports_, std::move(stream).value())
                                    : std::move(stream).value();
    }
    const sim::Fault fault = stream.failure().fault;
    if (fault == sim::Fault::closed) throw StoreNetworkError("the process is going down");
    if (fault == sim::Fault::timed_out || fault == sim::Fault::unreachable) return nullptr;
    const Duration delay = backoff.next();
    if (ports_.clock.monotonic_now() + delay >= deadline) return nullptr;
    pause_until(ports_.clock.monotonic_now() + delay);
  }
}

bool Client::open(sim::Stream& stream, MonotonicTime deadline) {
  if (of_1_13()) return true;
  const auto nonce = static_cast<std::uint32_t>(ports_.processes.self().value);
  if (!send_opening(stream, nonce)) return false;
  sim::Buffer echo;
  const MonotonicTime slice = ports_.clock.monotonic_now() + kReconnectTimeout;
  const auto until = hardened() ? std::optional(std::min(slice, deadline)) : std::nullopt;
  while (echo.size() < sizeof(nonce)) {  // waited for without limit by PyTorch
    auto more = stream.read(until);
    if (!more || more->empty()) return false;
    echo.append(std::move(more).value());
  }
  return take_number<std::uint32_t>(echo) == nonce;
}

// ---- messages
// --------------------------------------------------------------------------------------

void Client::broken(const std::string& why) {
  stream_.reset();
  received_ = {};
  throw StoreNetworkError(
      "the connection to the store at " + describe(options_.endpoint) + " is broken: " + why,
      std::exchange(in_doubt_, false));
}

template <class Call>
auto Client::persistently(Call call) -> decltype(call()) {
  reconnect_if_lost();
  try {
    return call();
  } catch (const StoreNetworkError&) {
    if (!hardened()) throw;
  }
  ++repeats_;
  reconnect_if_lost();
  return call();
}

void Client::reconnect_if_lost() {
  if (stream_ == nullptr && hardened()) {
    connect(std::min({timeout_, options_.reply_timeout, kReconnectTimeout}));
  }
}

void Client::send(Message& message) {
  in_doubt_ = false;
  reconnect_if_lost();
  if (stream_ == nullptr) broken("an earlier call lost it");
  std::unique_ptr<sim::Stream> stream = std::move(stream_);
  auto written = stream->write(message.take());
  if (!written) broken(std::string(to_string(written.failure().fault)));
  stream_ = std::move(stream);
}

void Client::send_change(Message& message) {
  send(message);
  in_doubt_ = true;
}

bool Client::receive(std::size_t count, std::optional<MonotonicTime> deadline) {
  const auto until = deadline ? deadline : request_deadline();
  std::unique_ptr<sim::Stream> stream = std::move(stream_);
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
  return in_time;
}

Value Client::value() {
  const auto length = number<std::uint64_t>();
  if (length > kReplyBytesMax) broken("a reply of " + std::to_string(length) + " bytes");
  receive(static_cast<std::size_t>(length), std::nullopt);
  return received_.take(static_cast<std::size_t>(length));
}

void Client::expect(std::uint8_t expected) {
  const auto answer = number<std::uint8_t>();
  if (answer == expected) return;
  throw StoreError("the store answered " + std::to_string(answer) + " where " +
                   std::to_string(expected) + " was expected");
}

Message Client::key_list(Query query, const std::vector<std::string>& keys) const {
  Message message = request(query);
  message.u64(keys.size());
  for (const std::string& key : keys) message.key(key);
  return message;
}

// ---- operations
// ------------------------------------------------------------------------------------

void Client::set(const std::string& key, Value value) {
  const std::lock_guard lock(mutex_);
  persistently([&] {
    send_change(request(Query::set).key(key).value(value));
    confirm(key);
  });
}

void Client::confirm(const std::string& key) {
  if (!hardened()) return;
  Message message = key_list(Query::check, {key});
  send(message);
  static_cast<void>(number<std::uint8_t>());
}

Value Client::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    wait_locked({key}, timeout_);
    send(request(Query::get).key(key));
    return value();
  });
}

std::int64_t Client::add(const std::string& key, std::int64_t delta) {
  const std::lock_guard lock(mutex_);
  send_change(request(Query::add).key(key).i64(delta));
  return number<std::int64_t>();
}

Value Client::compare_set(const std::string& key, const Value& expected, const Value& desired) {
  const std::lock_guard lock(mutex_);
  // If the first one was carried out and its answer lost, the second finds `desired` there and
  // answers with it, which is success.
  return persistently([&] {
    send_change(request(Query::compare_set).key(key).value(expected).value(desired));
    return value();
  });
}

void Client::wait(const std::vector<std::string>& keys, std::optional<Duration> timeout) {
  const std::lock_guard lock(mutex_);
  if (!keys.empty()) persistently([&] { wait_locked(keys, timeout.value_or(timeout_)); });
}

void Client::wait_locked(const std::vector<std::string>& keys, Duration timeout) {
  const MonotonicTime end = ports_.clock.monotonic_now() + timeout;
  for (Duration left = timeout;; left = end - ports_.clock.monotonic_now()) {
    // Nothing comes from a machine that was rebooted meanwhile: a hardened client asks in between
    // whether its wait is still known there.
    const bool in_between = hardened() && left > options_.reply_timeout / 2;
    if (wait_once(keys, in_between ? options_.reply_timeout / 2 : left)) return;
    if (!in_between) break;
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  throw StoreTimeoutError("wait timeout after " + std::to_string(ms) +
                          "ms, keys: " + join_keys(keys));
}

bool Client::wait_once(const std::vector<std::string>& keys, Duration timeout) {
  Message message = key_list(Query::wait, keys);
  send(message);
  std::optional<MonotonicTime> deadline = ports_.clock.monotonic_now() + timeout;
  if (options_.planted.has(Planted::store_waits_for_ever)) deadline.reset();
  if (receive(1, deadline)) {
    expect(kStopWaiting);
    return true;
  }
  if (of_1_13()) return false;  // the server goes on waiting for us (S-1)
  send(request(Query::cancel_wait));
  // The wait may have been satisfied just now: its answer then comes before that of the
  // cancellation. To PyTorch it has timed out all the same, so that whoever waits in slices that
  // are shorter than a slow store's answer waits for ever.
  const bool satisfied = number<std::uint8_t>() != kWaitCanceled;
  if (satisfied) expect(kWaitCanceled);
  return satisfied && hardened();
}

bool Client::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    Message message = key_list(Query::check, keys);
    send(message);
    return number<std::uint8_t>() == kCheckReady;
  });
}

void Client::append(const std::string& key, Value value) {
  if (of_1_13()) throw StoreError("a store of PyTorch 1.13 cannot append");
  const std::lock_guard lock(mutex_);
  send_change(request(Query::append).key(key).value(value));
}

std::vector<Value> Client::multi_get(const std::vector<std::string>& keys) {
  if (of_1_13()) {
    std::vector<Value> values;
    for (const std::string& key : keys) values.push_back(get(key));
    return values;
  }
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    if (!keys.empty()) wait_locked(keys, timeout_);
    Message message = key_list(Query::multi_get, keys);
    send(message);
    std::vector<Value> values;
    values.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values.push_back(value());
    return values;
  });
}

void Client::multi_set(const std::vector<std::pair<std::string, Value>>& items) {
  if (of_1_13()) {
    for (const auto& [key, item] : items) set(key, item);
    return;
  }
  const std::lock_guard lock(mutex_);
  persistently([&] {
    Message message = request(Query::multi_set);
    message.u64(items.size());
    for (const auto& [key, item] : items) message.key(key).value(item);
    send_change(message);
    if (!items.empty()) confirm(items.back().first);
  });
}

bool Client::delete_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  send_change(request(Query::delete_key).key(key));
  return number<std::int64_t>() != 0;
}

std::int64_t Client::num_keys() {
  const std::lock_guard lock(mutex_);
  send(request(Query::get_num_keys));
  return number<std::int64_t>();
}

}  // namespace

Variant detect_tcp_store(sim::Ports& ports, const sim::Endpoint& endpoint, Duration timeout) {
  constexpr Duration between_attempts = std::chrono::milliseconds(200);
  const MonotonicTime deadline = ports.clock.monotonic_now() + timeout;
  std::string why;
  for (;;) {
    auto stream = ports.network.connect(endpoint, deadline);
    if (stream && send_opening(*stream.value(), 0)) {
      auto answer = stream.value()->read(deadline);
      if (answer && !answer->empty()) return Variant::torch_2_x;
      if (answer || answer.failure().fault != sim::Fault::timed_out) return Variant::torch_1_13;
      why = "no answer";
    } else {
      why = stream ? "the connection broke" : std::string(to_string(stream.failure().fault));
    }
    if (ports.clock.monotonic_now() + between_attempts >= deadline) {
      throw StoreNetworkError("nobody serves a store at " + describe(endpoint) + ": " + why);
    }
    ports.executor.sleep_until(ports.clock.monotonic_now() + between_attempts);
  }
}

std::int64_t store_clients_counted_in(Store& store) {
  return dynamic_cast<Client&>(store).count_in(0);
}

std::shared_ptr<Store> connect_tcp_store(sim::Ports& ports, const TcpStoreOptions& options) {
  return std::make_shared<Client>(ports, options);
}

}  // namespace hooke::model
