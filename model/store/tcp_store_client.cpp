// The client. connect() holds PyTorch's two nested loops; each operation takes the client's one
// mutex, writes one message and reads its reply.
#include <charconv>
#include <mutex>

#include "model/store/backoff.h"
#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using sim::Duration;
using sim::MonotonicTime;

std::string describe(const sim::Endpoint& endpoint) {
  return endpoint.host + ":" + std::to_string(endpoint.port.value);
}

/// "/a, /b": the keys of a wait as PyTorch's message lists them.
std::string join_keys(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "/" : ", /") + key;
  return out;
}

class Client final : public Store {
 public:
  Client(sim::Ports& ports, TcpStoreOptions options)
      : ports_(ports),
        options_(std::move(options)),
        timeout_(options_.timeout),
        mutex_(ports.executor) {
    connect();
    if (options_.count_in) static_cast<void>(count_in(1));
  }
  /// Adds to the counter of clients, whose key has no slash before it.
  std::int64_t count_in(std::int64_t clients) {
    const std::lock_guard lock(mutex_);
    send(Message(Query::add).text("init/").i64(clients));
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

 private:
  void connect();
  std::unique_ptr<sim::Stream> connect_socket(Backoff& backoff);
  /// Opens the protocol on a fresh stream; false when the connection broke while doing so.
  bool open(sim::Stream& stream);

  void send(Message& message);
  void send(Message&& message) { send(message); }
  /// Blocks until `count` bytes have come; without a deadline for ever (S-23). False at the
  /// deadline.
  bool receive(std::size_t count, std::optional<MonotonicTime> deadline);
  template <class T>
  T number() {
    receive(sizeof(T), std::nullopt);
    return take_number<T>(received_);
  }
  Value value();
  void wait_locked(const std::vector<std::string>& keys, Duration timeout);
  [[noreturn]] void broken(const std::string& why, bool outcome_unknown);
  static Message key_list(Query query, const std::vector<std::string>& keys);

  sim::Ports& ports_;
  TcpStoreOptions options_;
  Duration timeout_;
  sim::Mutex mutex_;  ///< held for the whole of a call, waits included (rendezvous R-39)
  std::unique_ptr<sim::Stream> stream_;
  sim::Buffer received_;
};

// ---- connecting
// ------------------------------------------------------------------------------------

void Client::connect() {
  Backoff backoff(ports_.random, options_.variant);
  const MonotonicTime deadline = ports_.clock.monotonic_now() + options_.timeout;
  for (;;) {
    auto stream = connect_socket(backoff);
    if (stream != nullptr && open(*stream)) {
      stream_ = std::move(stream);
      return;
    }
    if (ports_.clock.monotonic_now() >= deadline || options_.variant == Variant::torch_1_13) {
      throw StoreNetworkError("the client could not connect to the store at " +
                              describe(options_.endpoint) + " in time");
    }
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + backoff.next());
  }
}

/// The inner loop: attempts on one socket with a deadline of its own; null when that has passed.
std::unique_ptr<sim::Stream> Client::connect_socket(Backoff& backoff) {
  const MonotonicTime deadline = ports_.clock.monotonic_now() + options_.timeout;
  for (;;) {
    auto stream = ports_.network.connect(options_.endpoint, deadline);
    if (stream) return std::move(stream).value();
    const sim::Fault fault = stream.failure().fault;
    if (fault == sim::Fault::closed) throw StoreNetworkError("the process is going down");
    if (fault == sim::Fault::timed_out || fault == sim::Fault::unreachable) return nullptr;
    const Duration delay = backoff.next();
    if (ports_.clock.monotonic_now() + delay >= deadline) return nullptr;
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + delay);
  }
}

bool Client::open(sim::Stream& stream) {
  // In one write: a server of PyTorch looks at whole packets (S-7).
  if (!stream.write(Message(Query::validate).u32(kValidateMagic).take())) return false;
  const auto nonce = static_cast<std::uint32_t>(ports_.processes.self().value);
  if (!stream.write(Message(Query::ping).u32(nonce).take())) return false;
  sim::Buffer echo;
  while (echo.size() < sizeof(nonce)) {  // waited for without limit, as PyTorch does
    auto more = stream.read(std::nullopt);
    if (!more || more->empty()) return false;
    echo.append(std::move(more).value());
  }
  return take_number<std::uint32_t>(echo) == nonce;
}

// ---- messages
// --------------------------------------------------------------------------------------

void Client::broken(const std::string& why, bool outcome_unknown) {
  stream_.reset();
  received_ = {};
  throw StoreNetworkError(
      "the connection to the store at " + describe(options_.endpoint) + " is broken: " + why,
      outcome_unknown);
}

void Client::send(Message& message) {
  if (stream_ == nullptr) broken("an earlier call lost it", false);
  auto written = stream_->write(message.take());
  if (!written) broken(std::string(to_string(written.failure().fault)), false);
}

bool Client::receive(std::size_t count, std::optional<MonotonicTime> deadline) {
  while (received_.size() < count) {
    auto more = stream_->read(deadline);
    if (!more) {
      if (more.failure().fault == sim::Fault::timed_out) return false;
      broken(std::string(to_string(more.failure().fault)), true);
    }
    if (more->empty()) broken("the store has closed it", true);
    received_.append(std::move(more).value());
  }
  return true;
}

Value Client::value() {
  const auto length = number<std::uint64_t>();
  if (length > kValueBytesMax * 16) broken("a reply of " + std::to_string(length) + " bytes", true);
  receive(static_cast<std::size_t>(length), std::nullopt);
  return received_.take(static_cast<std::size_t>(length));
}

Message Client::key_list(Query query, const std::vector<std::string>& keys) {
  Message message(query);
  message.u64(keys.size());
  for (const std::string& key : keys) message.text("/" + key);
  return message;
}

// ---- operations
// ------------------------------------------------------------------------------------

void Client::set(const std::string& key, Value value) {
  const std::lock_guard lock(mutex_);
  send(Message(Query::set).text("/" + key).value(value));
}

Value Client::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  wait_locked({key}, timeout_);
  send(Message(Query::get).text("/" + key));
  return value();
}

std::int64_t Client::add(const std::string& key, std::int64_t delta) {
  const std::lock_guard lock(mutex_);
  send(Message(Query::add).text("/" + key).i64(delta));
  return number<std::int64_t>();
}

Value Client::compare_set(const std::string& key, const Value& expected, const Value& desired) {
  const std::lock_guard lock(mutex_);
  send(Message(Query::compare_set).text("/" + key).value(expected).value(desired));
  return value();
}

void Client::wait(const std::vector<std::string>& keys, std::optional<Duration> timeout) {
  const std::lock_guard lock(mutex_);
  if (!keys.empty()) wait_locked(keys, timeout.value_or(timeout_));
}

void Client::wait_locked(const std::vector<std::string>& keys, Duration timeout) {
  Message message = key_list(Query::wait, keys);
  send(message);
  if (receive(1, ports_.clock.monotonic_now() + timeout)) {
    static_cast<void>(take_number<std::uint8_t>(received_));
    return;
  }
  send(Message(Query::cancel_wait));
  // The wait may have been satisfied just now: its answer then comes before that of the
  // cancellation.
  if (number<std::uint8_t>() == kStopWaiting) static_cast<void>(number<std::uint8_t>());
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  throw StoreTimeoutError("wait timeout after " + std::to_string(ms) +
                          "ms, keys: " + join_keys(keys));
}

bool Client::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  Message message = key_list(Query::check, keys);
  send(message);
  return number<std::uint8_t>() == kCheckReady;
}

void Client::append(const std::string& key, Value value) {
  const std::lock_guard lock(mutex_);
  send(Message(Query::append).text("/" + key).value(value));
}

std::vector<Value> Client::multi_get(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  if (!keys.empty()) wait_locked(keys, timeout_);
  Message message = key_list(Query::multi_get, keys);
  send(message);
  std::vector<Value> values;
  values.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) values.push_back(value());
  return values;
}

void Client::multi_set(const std::vector<std::pair<std::string, Value>>& items) {
  const std::lock_guard lock(mutex_);
  Message message(Query::multi_set);
  message.u64(items.size());
  for (const auto& [key, item] : items) message.text("/" + key).value(item);
  send(message);
}

bool Client::delete_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  send(Message(Query::delete_key).text("/" + key));
  return number<std::int64_t>() != 0;
}

std::int64_t Client::num_keys() {
  const std::lock_guard lock(mutex_);
  send(Message(Query::get_num_keys));
  return number<std::int64_t>();
}

}  // namespace

std::int64_t store_clients_counted_in(Store& store) {
  return dynamic_cast<Client&>(store).count_in(0);
}

std::shared_ptr<Store> connect_tcp_store(sim::Ports& ports, const TcpStoreOptions& options) {
  return std::make_shared<Client>(ports, options);
}

}  // namespace hooke::model
