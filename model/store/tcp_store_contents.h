#pragma once
// What a TCPStore's server keeps, apart from its connections. Keys, queues and waits share one
// limit of memory; so whatever is kept is counted here, where it is put in and taken out.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/store/tcp_store_limits.h"
#include "sim/port/buffer.h"

namespace hooke::model {

/// What an item of a queue or a registered wait costs besides its value.
inline std::uint64_t entry_bytes(const std::string& key) {
  return kStoreEntryBytes + key.size();
}

/// A value that may grow. What is appended is put to the value when a client reads it, which costs
/// the whole value anyway; so appending costs what is appended.
class StoredValue {
 public:
  explicit StoredValue(sim::Value value) : value_(std::move(value)) {}
  [[nodiscard]] std::size_t size() const { return value_.size() + appended_.size(); }
  void append(const std::string& bytes) { appended_ += bytes; }
  void replace(sim::Value value) {
    value_ = std::move(value);
    appended_.clear();
  }
  [[nodiscard]] const sim::Value& read() const {
    if (!appended_.empty()) value_ = sim::Value(value_.bytes() + std::exchange(appended_, {}));
    return value_;
  }

 private:
  mutable sim::Value value_;
  mutable std::string appended_;
};

/// Keys with values, and queues. What would meet the limit on bytes held changes nothing.
class StoreContents {
 public:
  using Keys = std::map<std::string, StoredValue, std::less<>>;

  /// `account` must outlive the contents.
  explicit StoreContents(StoreAccount& account) : account_(account) {}

  [[nodiscard]] const Keys& keys() const { return keys_; }
  /// A key with a value, or a queue with items.
  [[nodiscard]] bool present(const std::string& key) const {
    return keys_.contains(key) || queues_.contains(key);
  }
  [[nodiscard]] bool all_present(const std::vector<std::string>& keys) const;
  /// Null when the key has no value.
  [[nodiscard]] const sim::Value* find(const std::string& key) const;
  /// 0 for a key without a value.
  [[nodiscard]] std::size_t size_of(const std::string& key) const;
  /// The empty value for a key without one.
  [[nodiscard]] sim::Value value(const std::string& key) const {
    const sim::Value* found = find(key);
    return found == nullptr ? sim::Value() : *found;
  }
  /// 0 for a key without a value; nullopt for a value that is no number.
  [[nodiscard]] std::optional<std::int64_t> number_at(const std::string& key) const;
  /// False when the limit is met.
  bool put(const std::string& key, sim::Value value);
  /// Puts `value` behind the one that is there. False when the limit is met.
  bool append(const std::string& key, const sim::Value& value);
  /// Whether all of `items` can be put, one after the other. A key that is named twice counts
  /// twice, and what some shrink makes no room for others.
  bool has_room_for(const std::vector<std::pair<std::string, sim::Value>>& items);
  /// How many there were.
  std::int64_t erase(const std::string& key);

  /// False when the limit is met.
  bool push(const std::string& queue, sim::Value value);
  /// The oldest item; nullopt for an empty queue.
  std::optional<sim::Value> pop(const std::string& queue);
  [[nodiscard]] std::size_t queue_length(const std::string& queue) const;

 private:
  StoreAccount& account_;
  Keys keys_;
  std::map<std::string, std::deque<sim::Value>, std::less<>> queues_;  ///< none is empty
};

/// Which connections wait for which keys, by their numbers.
class StoreWaits {
 public:
  /// One entry per registration, in order.
  using Waiters = std::vector<std::uint64_t>;

  /// `account` must outlive the waits.
  explicit StoreWaits(StoreAccount& account) : account_(account) {}

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Some key that is waited for; there must be one.
  [[nodiscard]] const std::string& first_key() const;
  /// Null when nothing waits for the key, never an empty list. Ends with the next change.
  [[nodiscard]] const Waiters* find(const std::string& key) const;
  /// Registers the connection once more; false when the limit is met.
  bool add(const std::string& key, std::uint64_t connection);
  /// Withdraws every registration of a connection that waits for the key.
  void withdraw(const std::string& key, std::uint64_t connection);
  /// Withdraws the registrations of all connections; there must be one.
  void withdraw_all(const std::string& key);

 private:
  StoreAccount& account_;
  std::map<std::string, Waiters, std::less<>> waiting_;  ///< no entry is empty
};

}  // namespace hooke::model
