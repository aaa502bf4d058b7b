// The operations: each takes the client's one mutex, writes one message and reads its reply.
#include <algorithm>
#include <mutex>

#include "model/store/tcp_store.h"
#include "model/store/tcp_store_connection.h"
#include "model/store/wire.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using sim::Duration;
using sim::MonotonicTime;

/// "/a, /b": the keys of a wait as PyTorch's message lists them.
std::string join_keys(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "/" : ", /") + key;
  return out;
}

class Client final : public Store {
 public:
  Client(sim::Ports& ports, TcpStoreOptions options)
      : ports_(ports), mutex_(ports.executor), connection_(ports, std::move(options)) {
    if (connection_.options().count_in) static_cast<void>(count_in(1));
  }
  /// Adds to the counter of clients, whose key has no slash before it.
  std::int64_t count_in(std::int64_t clients) {
    const std::lock_guard lock(mutex_);
    connection_.send_change(connection_.request(Query::add).text("init/").i64(clients));
    return connection_.number<std::int64_t>();
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
  [[nodiscard]] Duration timeout() const override { return connection_.timeout(); }
  void set_timeout(Duration timeout) override { connection_.set_timeout(timeout); }
  [[nodiscard]] std::uint64_t repeats() const override { return repeats_; }

 private:
  /// Does what may be done twice; hardened, a second time on a new connection when the first one
  /// has broken.
  template <class Call>
  auto persistently(Call call) -> decltype(call());
  /// Hardened: asks for a key that has been set. A set is answered by nothing: if it is lost with
  /// its connection, this breaks, and both are done again (S-2).
  void confirm(const std::string& key);
  void wait_locked(const std::vector<std::string>& keys, Duration timeout);
  /// False: the time was over.
  bool wait_once(const std::vector<std::string>& keys, Duration timeout);
  [[nodiscard]] Message key_list(Query query, const std::vector<std::string>& keys) const;

  sim::Ports& ports_;
  sim::Mutex mutex_;  ///< held for the whole of a call, waits included (rendezvous R-39)
  TcpStoreConnection connection_;
  std::uint64_t repeats_ = 0;
};

template <class Call>
auto Client::persistently(Call call) -> decltype(call()) {
  connection_.reconnect_if_lost();
  try {
    return call();
  } catch (const StoreNetworkError&) {
    if (!connection_.hardened()) throw;
  }
  HOOKE_CHECK(connection_.hardened(), "only a hardened client does a request again");
  ++repeats_;
  connection_.reconnect_if_lost();
  return call();
}

Message Client::key_list(Query query, const std::vector<std::string>& keys) const {
  HOOKE_CHECK(query == Query::check || query == Query::wait || query == Query::multi_get,
              "a list of keys belongs to a query that takes one");
  Message message = connection_.request(query);
  message.u64(keys.size());
  for (const std::string& key : keys) message.key(key);
  return message;
}

void Client::set(const std::string& key, Value value) {
  const std::lock_guard lock(mutex_);
  persistently([&] {
    connection_.send_change(connection_.request(Query::set).key(key).value(value));
    confirm(key);
  });
}

void Client::confirm(const std::string& key) {
  if (!connection_.hardened()) return;
  Message message = key_list(Query::check, {key});
  connection_.send(message);
  static_cast<void>(connection_.number<std::uint8_t>());
}

Value Client::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    wait_locked({key}, connection_.timeout());
    connection_.send(connection_.request(Query::get).key(key));
    return connection_.value();
  });
}

std::int64_t Client::add(const std::string& key, std::int64_t delta) {
  const std::lock_guard lock(mutex_);
  connection_.send_change(connection_.request(Query::add).key(key).i64(delta));
  return connection_.number<std::int64_t>();
}

Value Client::compare_set(const std::string& key, const Value& expected, const Value& desired) {
  const std::lock_guard lock(mutex_);
  // If the first one was carried out and its answer lost, the second finds `desired` there and
  // answers with it, which is success.
  return persistently([&] {
    connection_.send_change(
        connection_.request(Query::compare_set).key(key).value(expected).value(desired));
    return connection_.value();
  });
}

void Client::wait(const std::vector<std::string>& keys, std::optional<Duration> timeout) {
  const std::lock_guard lock(mutex_);
  if (!keys.empty())
    persistently([&] { wait_locked(keys, timeout.value_or(connection_.timeout())); });
}

void Client::wait_locked(const std::vector<std::string>& keys, Duration timeout) {
  HOOKE_CHECK(!keys.empty(), "a wait is for some key");
  const MonotonicTime end = ports_.clock.monotonic_now() + timeout;
  for (Duration left = timeout;; left = end - ports_.clock.monotonic_now()) {
    // Nothing comes from a machine that was rebooted meanwhile: a hardened client asks in between
    // whether its wait is still known there.
    const bool in_between =
        connection_.hardened() && left > connection_.options().reply_timeout / 2;
    if (wait_once(keys, in_between ? connection_.options().reply_timeout / 2 : left)) return;
    if (!in_between) break;
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  throw StoreTimeoutError("wait timeout after " + std::to_string(ms) +
                          "ms, keys: " + join_keys(keys));
}

bool Client::wait_once(const std::vector<std::string>& keys, Duration timeout) {
  Message message = key_list(Query::wait, keys);
  HOOKE_CHECK(!keys.empty(), "a wait is sent for some key");
  connection_.send(message);
  std::optional<MonotonicTime> deadline = ports_.clock.monotonic_now() + timeout;
  if (connection_.options().planted.has(Planted::store_waits_for_ever)) deadline.reset();
  if (connection_.receive(1, deadline)) {
    connection_.expect(kStopWaiting);
    return true;
  }
  if (connection_.of_1_13()) return false;  // the server goes on waiting for us (S-1)
  connection_.send(connection_.request(Query::cancel_wait));
  // The wait may have been satisfied just now: its answer then comes before that of the
  // cancellation. To PyTorch it has timed out all the same, so that a client that waits in slices
  // that are shorter than a slow store's answer waits for ever.
  HOOKE_CHECK(!connection_.of_1_13(), "a wait of 1.13 cannot be cancelled");
  const bool satisfied = connection_.number<std::uint8_t>() != kWaitCanceled;
  if (satisfied) connection_.expect(kWaitCanceled);
  return satisfied && connection_.hardened();
}

bool Client::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    Message message = key_list(Query::check, keys);
    connection_.send(message);
    return connection_.number<std::uint8_t>() == kCheckReady;
  });
}

void Client::append(const std::string& key, Value value) {
  if (connection_.of_1_13()) throw StoreError("a store of PyTorch 1.13 cannot append");
  const std::lock_guard lock(mutex_);
  connection_.send_change(connection_.request(Query::append).key(key).value(value));
}

std::vector<Value> Client::multi_get(const std::vector<std::string>& keys) {
  if (connection_.of_1_13()) {
    std::vector<Value> values;
    for (const std::string& key : keys) values.push_back(get(key));
    return values;
  }
  const std::lock_guard lock(mutex_);
  return persistently([&] {
    if (!keys.empty()) wait_locked(keys, connection_.timeout());
    Message message = key_list(Query::multi_get, keys);
    connection_.send(message);
    std::vector<Value> values;
    values.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values.push_back(connection_.value());
    return values;
  });
}

void Client::multi_set(const std::vector<std::pair<std::string, Value>>& items) {
  if (connection_.of_1_13()) {
    for (const auto& [key, item] : items) set(key, item);
    return;
  }
  const std::lock_guard lock(mutex_);
  persistently([&] {
    HOOKE_CHECK(!connection_.of_1_13(), "a store of 1.13 takes one key at a time");
    Message message = connection_.request(Query::multi_set);
    message.u64(items.size());
    for (const auto& [key, item] : items) message.key(key).value(item);
    connection_.send_change(message);
    if (!items.empty()) confirm(items.back().first);
  });
}

bool Client::delete_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  connection_.send_change(connection_.request(Query::delete_key).key(key));
  return connection_.number<std::int64_t>() != 0;
}

std::int64_t Client::num_keys() {
  const std::lock_guard lock(mutex_);
  connection_.send(connection_.request(Query::get_num_keys));
  return connection_.number<std::int64_t>();
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
      throw StoreNetworkError("nothing serves a store at " + describe(endpoint) + ": " + why);
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
