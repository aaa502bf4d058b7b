#pragma once
// The TCPStore's messages: one query byte, then arguments without framing; integers little endian;
// texts and values as a 64-bit length and bytes. 1.13 and 2.x differ in the query's number and in
// which queries there are. Source: torch/csrc/distributed/c10d/TCPStoreBackend.hpp
// (QueryType; 1.13: TCPStore.cpp), TCPStoreLibUvBackend.cpp (limits and order of arguments).

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/variant/variant.h"
#include "sim/port/buffer.h"

namespace hooke::model {

enum class Query : std::uint8_t {
  validate = 0,
  set = 1,
  compare_set = 2,
  get = 3,
  add = 4,
  check = 5,
  wait = 6,
  get_num_keys = 7,
  delete_key = 8,
  append = 9,
  multi_get = 10,
  multi_set = 11,
  cancel_wait = 12,
  ping = 13,
  queue_push = 14,
  queue_pop = 15,
  queue_len = 16,
  list_keys = 17,
  barrier = 18,
};

/// First word of a 2.x connection (after the VALIDATE query).
inline constexpr std::uint32_t kValidateMagic = 0x3C85F7CE;
/// Answers to CHECK and WAIT.
inline constexpr std::uint8_t kCheckReady = 0;
inline constexpr std::uint8_t kCheckNotReady = 1;
inline constexpr std::uint8_t kStopWaiting = 0;
inline constexpr std::uint8_t kWaitCanceled = 1;

/// Limits of the libuv daemon, in bytes and in keys per list; beyond them it closes the connection.
inline constexpr std::uint64_t kKeyBytesMax = 8 * 1024;
inline constexpr std::uint64_t kValueBytesMax = 8 * 1024 * 1024;
inline constexpr std::uint64_t kKeysMax = 128 * 1024;

/// One parsed request; which members count is said by `query`.
struct Request {
  Query query{};
  std::string key;
  sim::Value value;     ///< SET, APPEND, QUEUE_PUSH: the value; COMPARE_SET: what is desired
  sim::Value expected;  ///< COMPARE_SET
  /// ADD: the delta; BARRIER: the world size; VALIDATE: the word; PING: the nonce.
  std::int64_t number = 0;
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, sim::Value>> items;  ///< MULTI_SET
};

/// Bytes outside the protocol: names the offset inside the request and what was expected there.
class WireError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Which PyTorch is at the other end, judged by the beginning of what it sends; nullopt while too
/// little has come. A 1.13 request looks like 2.x' opening only if its key has a gigabyte.
std::optional<Variant> dialect_of(const sim::Buffer& opening);

/// How far the list at the front of a buffer has been looked at before it was all there. Without it
/// a list that comes in many pieces would be looked at from its beginning for each of them.
struct ListProgress {
  std::size_t position = 0;  ///< bytes that need not be looked at again; 0: no list has begun
  std::uint64_t items_left = 0;
};

/// Takes one complete request from the front of `bytes`; nullopt, taking nothing, while it is
/// incomplete: then `progress` is to be given again with the same bytes and those that followed.
/// WireError as soon as what is there cannot become a request. 1.13's WATCH_KEY, which no elastic
/// code sends, is not known.
std::optional<Request> take_request(sim::Buffer& bytes, Variant dialect, ListProgress& progress);
std::optional<Request> take_request(sim::Buffer& bytes, Variant dialect = Variant::torch_2_x);

/// Builds a message piece by piece; values travel by reference.
class Message {
 public:
  Message() = default;
  /// std::logic_error for a query that the dialect does not have.
  explicit Message(Query query, Variant dialect = Variant::torch_2_x);
  Message& u8(std::uint8_t number);
  Message& u32(std::uint32_t number);
  Message& u64(std::uint64_t number);
  Message& i64(std::int64_t number) { return u64(static_cast<std::uint64_t>(number)); }
  Message& text(std::string_view text);
  /// A key as clients send it, with a slash before its name.
  Message& key(std::string_view name);
  Message& value(const sim::Value& value);
  /// The finished message.
  sim::Buffer take();

 private:
  sim::Buffer done_;
  std::string open_;
};

/// The little-endian number whose `sizeof(T)` bytes begin at `raw`.
template <class T>
T number_at(const char* raw) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
  }
  return static_cast<T>(number);
}

/// Takes a little-endian number from the front of `bytes`, which must hold it.
template <class T>
T take_number(sim::Buffer& bytes) {
  char raw[sizeof(T)];
  bytes.peek(0, sizeof(T), raw);
  bytes.drop(sizeof(T));
  return number_at<T>(raw);
}

}  // namespace hooke::model
