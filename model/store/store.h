#pragma once
// A key-value store as the elastic protocol uses it. PyTorch:
// torch/csrc/distributed/c10d/Store.hpp. All operations block the calling fiber; errors are
// exceptions under PyTorch's names, because the protocol above decides by their type.

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/buffer.h"
#include "sim/port/time.h"

namespace hooke::model {

using sim::Value;

/// Base of store failures (PyTorch DistError; a RuntimeError in Python).
class StoreError : public std::runtime_error {
 public:
  /// `outcome_unknown`: the request may have taken effect all the same.
  explicit StoreError(const std::string& what, bool outcome_unknown = false)
      : std::runtime_error(what), outcome_unknown_(outcome_unknown) {}
  [[nodiscard]] bool outcome_unknown() const { return outcome_unknown_; }

 private:
  bool outcome_unknown_;
};
/// A wait passed its time-out (DistStoreError).
class StoreTimeoutError : public StoreError {
 public:
  using StoreError::StoreError;
};
/// Connecting or talking to the server failed (DistNetworkError).
class StoreNetworkError : public StoreError {
 public:
  using StoreError::StoreError;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual void set(const std::string& key, Value value) = 0;
  /// Waits up to timeout() for the key. Not atomic on TCP: a wait, then a read.
  virtual Value get(const std::string& key) = 0;
  /// Adds to a decimal number, missing counts as 0; returns the sum. StoreError when it is no
  /// number.
  virtual std::int64_t add(const std::string& key, std::int64_t delta) = 0;
  /// See spec: on a missing key with a non-empty expectation it writes nothing and returns
  /// `expected`.
  virtual Value compare_set(const std::string& key, const Value& expected,
                            const Value& desired) = 0;
  /// Waits until all keys are there; `timeout` nullopt: the store's own. StoreTimeoutError.
  virtual void wait(const std::vector<std::string>& keys,
                    std::optional<sim::Duration> timeout = std::nullopt) = 0;
  virtual bool check(const std::vector<std::string>& keys) = 0;
  virtual void append(const std::string& key, Value value) = 0;
  /// Waits for all, then reads all. Where a store has nothing better, one get after the other, each
  /// with the whole timeout (c10d/Store.cpp).
  virtual std::vector<Value> multi_get(const std::vector<std::string>& keys) {
    std::vector<Value> values;
    for (const std::string& key : keys) values.push_back(get(key));
    return values;
  }
  virtual void multi_set(const std::vector<std::pair<std::string, Value>>& items) {
    for (const auto& [key, value] : items) set(key, value);
  }
  /// True if the key was there.
  virtual bool delete_key(const std::string& key) = 0;
  /// All keys of the server.
  virtual std::int64_t num_keys() = 0;

  /// Bound of get() and of wait() without one of its own; 300 s unless set.
  [[nodiscard]] virtual sim::Duration timeout() const = 0;
  virtual void set_timeout(sim::Duration timeout) = 0;
  /// How many calls have been made twice because the connection broke under the first: of those
  /// that change something, the first may have been carried out too.
  [[nodiscard]] virtual std::uint64_t repeats() const { return 0; }
};

/// A view that puts `prefix` + "/" before every key (c10d/PrefixStore.cpp joinKey). timeout and
/// set_timeout pass through to the shared store (S-30); num_keys is not filtered.
std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store);

}  // namespace hooke::model
