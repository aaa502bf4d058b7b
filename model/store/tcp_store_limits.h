#pragma once
// A TCPStore has no authentication: a peer that reaches it can send anything. One client must not
// cost the server so much memory that the job of all others ends. PyTorch's daemon limits single
// keys, values and lists (TCPStoreLibUvBackend.cpp: MAX_STRING_LEN, MAX_PAYLOAD_LEN,
// MAX_KEY_COUNT), not what they come to together; these limits do.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sim/port/check.h"
#include "sim/port/clock.h"

namespace hooke::model {

/// What a server takes on. Beyond a limit the client that asked loses its connection, which is all
/// that the protocol has for a refusal; what is stored stays as it was. The defaults have room for
/// a job of 10,000 nodes with 8 workers each, of 2.x or of 1.13 (two connections per client).
struct TcpStoreLimits {
  /// Clients of this machine alone, by "localhost". PyTorch's daemon serves all machines.
  bool loopback = false;
  std::size_t connections = 262'144;
  /// Of one request that has begun to arrive.
  std::uint64_t request_bytes = 1ULL << 30U;
  /// Of one reply, and so of a value that grows by APPEND.
  std::uint64_t reply_bytes = 1ULL << 30U;
  /// Of keys, values, queues and registered waits together, each entry with kStoreEntryBytes, and
  /// of half requests and of replies that clients do not read (beyond 1 MiB per client).
  std::uint64_t held_bytes = 16ULL << 30U;
  /// Is told the limit and what met it, in words, at most once per minute for each limit. Empty:
  /// the server says nothing.
  std::function<void(const std::string&)> refused = {};
};

/// What an entry costs beside its own bytes.
inline constexpr std::uint64_t kStoreEntryBytes = 128;

/// Holds a server to its limits. Each question answers whether the limit allows it, and tells of a
/// refusal.
class StoreAccount {
 public:
  StoreAccount(TcpStoreLimits limits, const sim::Clock& clock);
  /// One more connection beside the `open` ones.
  bool allows_connection(std::size_t open) {
    return open < limits_.connections || refuse("connections", open + 1, limits_.connections);
  }
  bool allows_request(std::uint64_t bytes) {
    return bytes <= limits_.request_bytes || refuse("request-bytes", bytes, limits_.request_bytes);
  }
  bool allows_reply(std::uint64_t bytes) {
    return bytes <= limits_.reply_bytes || refuse("reply-bytes", bytes, limits_.reply_bytes);
  }
  /// From now on `wanted` bytes are held in place of `freed` ones. What does not grow is always
  /// allowed. Nothing changes when it is refused.
  bool hold(std::uint64_t wanted, std::uint64_t freed = 0) {
    HOOKE_CHECK(freed <= held_, "only what is held can be freed");
    if (wanted > freed && !allows_growth(wanted - freed)) return false;
    held_ = held_ - freed + wanted;
    return true;
  }
  /// Whether `bytes` more can be held; tells of no refusal.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const {
    return bytes <= limits_.held_bytes - std::min(held_, limits_.held_bytes);
  }
  bool allows_growth(std::uint64_t bytes) {
    return has_room(bytes) || refuse("held-bytes", held_ + bytes, limits_.held_bytes);
  }
  /// Requires that `bytes` are held.
  void release(std::uint64_t bytes) {
    HOOKE_CHECK(bytes <= held_, "only what is held can be released");
    held_ -= bytes;
  }
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  /// Always false.
  bool refuse(const char* limit, std::uint64_t wanted, std::uint64_t allowed);

  TcpStoreLimits limits_;
  const sim::Clock& clock_;
  std::uint64_t held_ = 0;
  std::map<std::string, sim::MonotonicTime, std::less<>> told_;
};

/// A number of bytes held that changes, and ends with this object.
class HeldBytes {
 public:
  /// `account` must outlive it.
  explicit HeldBytes(StoreAccount& account) : account_(account) {}
  ~HeldBytes() { account_.release(bytes_); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  /// Nothing changes when it is refused.
  bool become(std::uint64_t bytes) {
    if (!account_.hold(bytes, bytes_)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  StoreAccount& account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hooke::model
