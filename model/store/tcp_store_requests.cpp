// What each request does, as TCPStoreLibUvBackend.cpp has it.
#include <algorithm>

#include "model/store/decimal.h"
#include "model/store/tcp_store_service.h"
#include "sim/port/check.h"

namespace hooke::model {

bool TcpStoreServed::store(const std::string& key, Value value) {
  HOOKE_CHECK(key.size() <= kKeyBytesMax,
              "a key that is stored is no longer than a request allows");
  if (!server_.contents_.put(key, std::move(value))) return false;
  wake_for_a_write(key);
  return true;
}

void TcpStoreServed::wake_for_a_write(const std::string& key) {
  const std::optional<std::string> other = server_.woken_instead();
  wake_waiters(other ? *other : key);
}

bool TcpStoreServed::append(const Request& request) {
  const std::uint64_t old = server_.contents_.size_of(request.key);
  if (!server_.account_.allows_reply(8 + old + request.value.size())) return false;
  if (!server_.contents_.append(request.key, request.value)) return false;
  HOOKE_CHECK(server_.contents_.size_of(request.key) == old + request.value.size(),
              "what is appended stands behind what was there");
  wake_for_a_write(request.key);
  return true;
}

bool TcpStoreServed::get(const Request& request) {
  // 1.13 closes the connection; 2.x sends nothing as if it were a value.
  if (!checks_store_connections(*dialect_) && server_.contents_.find(request.key) == nullptr)
    return false;
  reply(Message().value(server_.contents_.value(request.key)));
  return true;
}

bool TcpStoreServed::compare_set(Request& request) {
  const Value* found = server_.contents_.find(request.key);
  Value answer;
  if (found == nullptr) {
    if (request.expected.empty()) {
      answer = request.value;
      if (!server_.contents_.put(request.key, std::move(request.value))) return false;
    } else {
      answer = request.expected;  // says "as you expected" although nothing is stored (S-4)
    }
  } else if (server_.is_as_expected(*found, request.expected)) {
    answer = request.value;
    if (!server_.contents_.put(request.key, std::move(request.value))) return false;
  } else {
    answer = *found;
  }
  // In 2.x even when nothing was written (S-27), in 1.13 never.
  if (checks_store_connections(*dialect_)) wake_waiters(request.key);
  reply(Message().value(answer));
  return true;
}

bool TcpStoreServed::add(const Request& request) {
  const auto before = server_.contents_.number_at(request.key);
  if (!before) return false;
  const std::int64_t number = wrapping_sum(*before, request.number);
  if (!store(request.key, Value(std::to_string(number)))) return false;
  reply(Message().i64(server_.answer_to_add(*before, number)));
  return true;
}

bool TcpStoreServed::wait(const Request& request) {
  if (server_.contents_.all_present(request.keys)) {
    reply(Message().u8(kStopWaiting));
    return true;
  }
  std::size_t missing = 0;
  for (const std::string& key : request.keys) {
    if (server_.contents_.find(key) != nullptr) continue;  // a queue counts as missing here (S-14)
    if (!wait_for(key)) return false;
    ++missing;
  }
  HOOKE_CHECK(missing <= request.keys.size(), "no more keys are missing than were asked for");
  HOOKE_CHECK(missing > 0, "a connection that waits, waits for a key");
  awaited_ = missing;  // replaces the count of an open WAIT, its registrations stay
  return true;
}

bool TcpStoreServed::wait_for(const std::string& key) {
  HOOKE_CHECK(server_.connections_.contains(number_),
              "a connection that waits is one of the server");
  if (!server_.waits_.add(key, number_)) return false;
  registered_.insert(key);
  return true;
}

void TcpStoreServed::forget_waits() {
  for (const std::string& key : registered_) server_.waits_.withdraw(key, number_);
  registered_.clear();
  awaited_ = 0;
}

void TcpStoreServed::wake_waiters(const std::string& key) {
  const StoreWaits::Waiters* found = server_.waits_.find(key);
  if (found == nullptr) return;
  for (const std::uint64_t number : *found) {
    TcpStoreServed& waiter = *server_.connections_.at(number);
    HOOKE_CHECK(&waiter.server_ == &server_, "a waiter is a connection of this server");
    waiter.registration_gone(key);
    if (server_.wakes(number == found->front())) static_cast<void>(waiter.key_appeared());
  }
  server_.waits_.withdraw_all(key);
}

bool TcpStoreServed::key_appeared() {
  if (awaited_ == 0 || --awaited_ > 0) return false;
  reply(Message().u8(kStopWaiting));
  return true;
}

bool TcpStoreServed::multi_get(const Request& request) {
  std::uint64_t bytes = 0;
  Message message;  // values travel by reference: nothing is copied before the reply is written
  for (const std::string& key : request.keys) {
    const Value value = server_.contents_.value(key);
    bytes += 8 + value.size();
    message.value(value);
  }
  if (!server_.account_.allows_reply(bytes)) return false;
  reply(message);
  return true;
}

bool TcpStoreServed::multi_set(Request& request) {
  // All of it or nothing: a store that is full must not be left with the half.
  if (!server_.contents_.has_room_for(request.items)) return false;
  HOOKE_CHECK(server_.written_of(request.items.size()) <= request.items.size(),
              "no more is written than was sent");
  request.items.resize(server_.written_of(request.items.size()));
  for (auto& [key, value] : request.items) {
    const bool stored = store(key, std::move(value));
    HOOKE_CHECK(stored, "what has room is stored");
  }
  return true;
}

bool TcpStoreServed::queue_push(Request& request) {
  if (!server_.contents_.push(request.key, std::move(request.value))) return false;
  const StoreWaits::Waiters* found = server_.waits_.find(request.key);
  if (found == nullptr) return true;
  HOOKE_CHECK(server_.contents_.queue_length(request.key) > 0, "what wakes a waiter is there");
  // One is woken, and it stays registered, so that a later wait of its may end too early (S-14).
  for (const std::uint64_t number : *found) {
    if (server_.connections_.at(number)->key_appeared()) return true;
  }
  return true;
}

void TcpStoreServed::queue_pop(const Request& request) {
  const std::size_t length = server_.contents_.queue_length(request.key);
  Message message;
  message.i64(static_cast<std::int64_t>(length));
  if (length > 0) message.value(*server_.contents_.pop(request.key));
  HOOKE_CHECK(
      server_.contents_.queue_length(request.key) == length - std::min<std::size_t>(length, 1),
      "one item is taken, where there is one");
  reply(message);
}

bool TcpStoreServed::list_keys() {
  std::uint64_t bytes = 8;
  for (const auto& [key, value] : server_.contents_.keys()) bytes += 8 + key.size();
  if (!server_.account_.allows_reply(bytes)) return false;
  Message message;
  message.i64(static_cast<std::int64_t>(server_.contents_.keys().size()));
  for (const auto& [key, value] : server_.contents_.keys()) message.text(key);
  reply(message);
  return true;
}

bool TcpStoreServed::barrier(const Request& request) {
  HOOKE_CHECK(request.query == Query::barrier, "a barrier counts its own requests");
  const auto before = server_.contents_.number_at(request.key);
  if (!before) return false;
  const std::int64_t arrived = wrapping_sum(*before, 1);
  // Not by store(): only the last arrival wakes, so a WAIT for the key does not see the first one.
  if (!server_.contents_.put(request.key, Value(std::to_string(arrived)))) return false;
  if (arrived >= request.number) {
    wake_waiters(request.key);  // the others first, then the last to arrive
    reply(Message().u8(kStopWaiting));
  } else {
    // Like any waiter, and so released by any write to the counter (S-32).
    if (!wait_for(request.key)) return false;
    awaited_ = 1;
  }
  return true;
}

}  // namespace hooke::model
