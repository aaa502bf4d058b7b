// Each operation takes the client's one mutex, writes one message and reads its reply.
#include "model/store/tcp_store_client.h"

#include <mutex>

#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/port/check.h"

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

}  // namespace

TcpStoreClient::TcpStoreClient(sim::Ports& ports, std::unique_ptr<TcpStoreConnection> connection)
    : ports_(ports), connection_(std::move(connection)), mutex_(ports.executor) {
  HOOKE_CHECK(connection_ != nullptr, "a client has a connection");
  if (connection_->options().count_in) static_cast<void>(count_in(1));
}

std::int64_t TcpStoreClient::count_in(std::int64_t clients) {
  HOOKE_CHECK(clients == 0 || clients == 1, "a client counts itself, or looks at the count");
  const std::lock_guard lock(mutex_);
  connection_->send_change(connection_->request(Query::add).text("init/").i64(clients));
  return connection_->number<std::int64_t>();
}

Message TcpStoreClient::key_list(Query query, const std::vector<std::string>& keys) const {
  HOOKE_CHECK(query == Query::check || query == Query::wait || query == Query::multi_get,
              "a list of keys belongs to a query that takes one");
  Message message = connection_->request(query);
  message.u64(keys.size());
  for (const std::string& key : keys) message.key(key);
  return message;
}

void TcpStoreClient::set(const std::string& key, Value value) {
  const std::lock_guard lock(mutex_);
  persistently([&] {
    connection_->send_change(connection_->request(Query::set).key(key).value(value));
    confirm(key);
  });
}

Value TcpStoreClient::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Value value;
  persistently([&] {
    wait_locked({key}, connection_->timeout());
    connection_->send(connection_->request(Query::get).key(key));
    value = connection_->value();
  });
  return value;
}

std::int64_t TcpStoreClient::add(const std::string& key, std::int64_t delta) {
  const std::lock_guard lock(mutex_);
  connection_->send_change(connection_->request(Query::add).key(key).i64(delta));
  return connection_->number<std::int64_t>();
}

Value TcpStoreClient::compare_set(const std::string& key, const Value& expected,
                                  const Value& desired) {
  const std::lock_guard lock(mutex_);
  // If the first of two is carried out and its answer lost, the second finds `desired` there and
  // answers with it, which is success.
  Value present;
  persistently([&] {
    connection_->send_change(
        connection_->request(Query::compare_set).key(key).value(expected).value(desired));
    present = connection_->value();
  });
  return present;
}

void TcpStoreClient::wait(const std::vector<std::string>& keys, std::optional<Duration> timeout) {
  const std::lock_guard lock(mutex_);
  if (!keys.empty())
    persistently([&] { wait_locked(keys, timeout.value_or(connection_->timeout())); });
}

void TcpStoreClient::wait_locked(const std::vector<std::string>& keys, Duration timeout) {
  HOOKE_CHECK(!keys.empty(), "a wait is for some key");
  const MonotonicTime end = ports_.clock.monotonic_now() + timeout;
  for (Duration left = timeout;; left = end - ports_.clock.monotonic_now()) {
    const Duration slice = wait_slice(left);
    HOOKE_CHECK(slice <= left, "a slice is a part of the wait");
    HOOKE_CHECK(slice > Duration::zero() || left <= Duration::zero(),
                "time passes while there is some left");
    if (wait_once(keys, slice)) return;
    if (slice >= left) break;
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  throw StoreTimeoutError("wait timeout after " + std::to_string(ms) +
                          "ms, keys: " + join_keys(keys));
}

bool TcpStoreClient::wait_once(const std::vector<std::string>& keys, Duration timeout) {
  Message message = key_list(Query::wait, keys);
  HOOKE_CHECK(!keys.empty(), "a wait is sent for some key");
  connection_->send(message);
  if (connection_->receive(1, wait_end(timeout))) {
    connection_->expect(kStopWaiting);
    return true;
  }
  if (connection_->of_1_13()) return false;  // the server goes on waiting for us (S-1)
  connection_->send(connection_->request(Query::cancel_wait));
  // The wait may have been satisfied just now: its answer then comes before that of the
  // cancellation.
  HOOKE_CHECK(!connection_->of_1_13(), "a wait of 1.13 cannot be cancelled");
  const bool satisfied = connection_->number<std::uint8_t>() != kWaitCanceled;
  if (satisfied) connection_->expect(kWaitCanceled);
  return satisfied && takes_late_answer();
}

bool TcpStoreClient::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  bool ready = false;
  persistently([&] {
    Message message = key_list(Query::check, keys);
    connection_->send(message);
    ready = connection_->number<std::uint8_t>() == kCheckReady;
  });
  return ready;
}

void TcpStoreClient::append(const std::string& key, Value value) {
  if (connection_->of_1_13()) throw StoreError("a store of PyTorch 1.13 cannot append");
  const std::lock_guard lock(mutex_);
  connection_->send_change(connection_->request(Query::append).key(key).value(value));
}

std::vector<Value> TcpStoreClient::multi_get(const std::vector<std::string>& keys) {
  if (connection_->of_1_13()) {
    std::vector<Value> values;
    for (const std::string& key : keys) values.push_back(get(key));
    return values;
  }
  const std::lock_guard lock(mutex_);
  std::vector<Value> values;
  persistently([&] {
    if (!keys.empty()) wait_locked(keys, connection_->timeout());
    Message message = key_list(Query::multi_get, keys);
    connection_->send(message);
    values.clear();
    values.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values.push_back(connection_->value());
  });
  HOOKE_CHECK(values.size() == keys.size(), "a store has a value for each key that was asked for");
  return values;
}

void TcpStoreClient::multi_set(const std::vector<std::pair<std::string, Value>>& items) {
  if (connection_->of_1_13()) {
    for (const auto& [key, item] : items) set(key, item);
    return;
  }
  const std::lock_guard lock(mutex_);
  persistently([&] {
    HOOKE_CHECK(!connection_->of_1_13(), "a store of 1.13 takes one key at a time");
    Message message = connection_->request(Query::multi_set);
    message.u64(items.size());
    for (const auto& [key, item] : items) message.key(key).value(item);
    connection_->send_change(message);
    if (!items.empty()) confirm(items.back().first);
  });
}

bool TcpStoreClient::delete_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  connection_->send_change(connection_->request(Query::delete_key).key(key));
  return connection_->number<std::int64_t>() != 0;
}

std::int64_t TcpStoreClient::num_keys() {
  const std::lock_guard lock(mutex_);
  connection_->send(connection_->request(Query::get_num_keys));
  return connection_->number<std::int64_t>();
}

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
  return dynamic_cast<TcpStoreClient&>(store).count_in(0);
}

}  // namespace hooke::model
