// Parsing in two passes: complete() looks whether the request is all there without taking anything,
// so that a request split at any byte simply waits for more; then it is taken apart.
#include "model/store/wire.h"

#include <algorithm>
#include <array>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Looks ahead in a buffer. Every step says whether enough bytes are there.
class Lookahead {
 public:
  explicit Lookahead(const sim::Buffer& bytes) : bytes_(bytes), front_(bytes.front_text()) {}
  [[nodiscard]] std::size_t position() const { return position_; }

  bool skip(std::uint64_t count) {
    if (count > bytes_.size() - position_) return false;
    position_ += static_cast<std::size_t>(count);
    HOOKE_CHECK(position_ <= bytes_.size(), "what is skipped is there");
    return true;
  }
  std::optional<std::uint64_t> u64() {
    const std::size_t at = position_;
    if (!skip(8)) return std::nullopt;
    if (position_ <= front_.size()) return number_at<std::uint64_t>(front_.data() + at);
    char raw[8];
    bytes_.peek(at, 8, raw);
    return number_at<std::uint64_t>(raw);
  }
  /// A length and as many bytes; WireError when the length is beyond `limit`.
  bool sized(std::uint64_t limit, const char* what) {
    const std::size_t at = position_;
    const auto length = u64();
    if (!length) return false;
    if (*length > limit) {
      throw WireError("byte " + std::to_string(at) + ": a " + what + " of at most " +
                      std::to_string(limit) + " bytes was expected, its length says " +
                      std::to_string(*length));
    }
    return skip(*length);
  }
  bool key() { return sized(kKeyBytesMax, "key"); }
  bool value() { return sized(kValueBytesMax, "value"); }
  /// A count of keys, or of keys each with a value.
  bool list(bool with_values, ListProgress& progress) {
    if (progress.position == 0 && !begin_list(progress)) return false;
    position_ = progress.position;
    HOOKE_CHECK(position_ <= bytes_.size() && progress.items_left <= kKeysMax,
                "a list goes on where it was left, with no more than it said");
    while (progress.items_left > 0) {
      if (!key() || (with_values && !value())) return false;
      progress = {position_, progress.items_left - 1};
    }
    return true;
  }

 private:
  bool begin_list(ListProgress& progress) {
    const std::size_t at = position_;
    const auto count = u64();
    if (!count) return false;
    if (*count > kKeysMax) {
      throw WireError("byte " + std::to_string(at) + ": at most " + std::to_string(kKeysMax) +
                      " keys were expected, the count says " + std::to_string(*count));
    }
    progress = {position_, *count};
    return true;
  }

  const sim::Buffer& bytes_;
  std::string_view front_;  ///< nearly always all of a request lies here
  std::size_t position_ = 0;
};

/// Takes a request apart that is there whole. What lies at the front of the buffer is read where it
/// is and dropped at once; that makes half of a small request's cost.
class Taking {
 public:
  explicit Taking(sim::Buffer& bytes) : bytes_(bytes) {}
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;
  ~Taking() { bytes_.drop(taken_); }

  template <class T>
  T number() {
    const char* const here = in_front(sizeof(T));
    return here != nullptr ? number_at<T>(here) : take_number<T>(bytes_);
  }
  std::string text() {
    const auto length = static_cast<std::size_t>(number<std::uint64_t>());
    const char* const here = in_front(length);
    return here != nullptr ? std::string(here, length) : bytes_.take_bytes(length);
  }
  sim::Value value() {
    const auto length = static_cast<std::size_t>(number<std::uint64_t>());
    if (length == 0) return {};
    const char* const here = in_front(length);
    return here != nullptr ? sim::Value(std::string(here, length)) : bytes_.take(length);
  }

 private:
  /// Where the next `count` bytes lie, which then are taken; null when they are to be taken from
  /// the buffer.
  const char* in_front(std::size_t count) {
    if (taken_ == front_.size()) {
      leave_front();
      front_ = bytes_.front_text();
    }
    if (count > front_.size() - taken_) {
      leave_front();
      return nullptr;
    }
    HOOKE_CHECK(taken_ + count <= front_.size(), "what is taken at the front lies there");
    return front_.data() + std::exchange(taken_, taken_ + count);
  }
  void leave_front() {
    bytes_.drop(std::exchange(taken_, 0));
    front_ = {};
  }

  sim::Buffer& bytes_;
  std::string_view front_;
  std::size_t taken_ = 0;  ///< of front_
};

/// The queries of 1.13, in the order of their numbers; number 7 is WATCH_KEY.
constexpr std::array<std::optional<Query>, 9> kQueriesOf113{
    Query::set,  Query::compare_set,  Query::get, Query::add,        Query::check,
    Query::wait, Query::get_num_keys, {},         Query::delete_key,
};

std::optional<Query> query_of(std::uint8_t number, Variant dialect) {
  if (!checks_store_connections(dialect)) {
    return number < kQueriesOf113.size() ? kQueriesOf113[number] : std::nullopt;
  }
  if (number > static_cast<std::uint8_t>(Query::barrier)) return std::nullopt;
  return static_cast<Query>(number);
}

/// The query at the front; WireError when the dialect has none of that number.
Query front_query(const sim::Buffer& bytes, Variant dialect) {
  HOOKE_CHECK(!bytes.empty(), "a query stands at the front of some bytes");
  char first = 0;
  const std::string_view front = bytes.front_text();
  if (front.empty()) {
    bytes.peek(0, 1, &first);
  } else {
    first = front.front();
  }
  const auto number = static_cast<std::uint8_t>(first);
  if (const auto query = query_of(number, dialect)) return *query;
  throw WireError(std::string("byte 0: a query of ") +
                  (!checks_store_connections(dialect) ? "0 to 6 or 8" : "0 to 18") +
                  " was expected, got " + std::to_string(number));
}

/// True when all that follows a query is there; then it lies before the position of `ahead`.
bool complete(Lookahead& ahead, Query query, ListProgress& progress) {
  switch (query) {
    case Query::validate:
    case Query::ping: return ahead.skip(4);
    case Query::set:
    case Query::append:
    case Query::queue_push: return ahead.key() && ahead.value();
    case Query::compare_set: return ahead.key() && ahead.value() && ahead.value();
    case Query::get:
    case Query::delete_key:
    case Query::queue_pop:
    case Query::queue_len: return ahead.key();
    case Query::add:
    case Query::barrier: return ahead.key() && ahead.skip(8);
    case Query::check:
    case Query::wait:
    case Query::multi_get: return ahead.list(false, progress);
    case Query::multi_set: return ahead.list(true, progress);
    case Query::get_num_keys:
    case Query::cancel_wait:
    case Query::list_keys: return true;
  }
  HOOKE_CHECK(false, "each query of the protocol has an end");
  return false;
}

void take_apart(sim::Buffer& bytes, Query query, Request& request) {
  HOOKE_CHECK(static_cast<std::uint8_t>(query) <= static_cast<std::uint8_t>(Query::barrier),
              "a request has a query of the protocol");
  Taking take(bytes);
  static_cast<void>(take.number<std::uint8_t>());
  request.query = query;
  switch (query) {
    case Query::validate:
    case Query::ping: request.number = take.number<std::uint32_t>(); break;
    case Query::set:
    case Query::append:
    case Query::queue_push:
      request.key = take.text();
      request.value = take.value();
      break;
    case Query::compare_set:
      request.key = take.text();
      request.expected = take.value();
      request.value = take.value();
      break;
    case Query::get:
    case Query::delete_key:
    case Query::queue_pop:
    case Query::queue_len: request.key = take.text(); break;
    case Query::add:
    case Query::barrier:
      request.key = take.text();
      request.number = take.number<std::int64_t>();
      break;
    case Query::check:
    case Query::wait:
    case Query::multi_get: {
      const auto count = take.number<std::uint64_t>();
      HOOKE_CHECK(count <= kKeysMax, "a list has no more keys than are allowed");
      for (std::uint64_t i = 0; i < count; ++i) request.keys.push_back(take.text());
      break;
    }
    case Query::multi_set: {
      const auto count = take.number<std::uint64_t>();
      HOOKE_CHECK(count <= kKeysMax, "a list has no more items than are allowed");
      for (std::uint64_t i = 0; i < count; ++i) {
        std::string key = take.text();
        request.items.emplace_back(std::move(key), take.value());
      }
      break;
    }
    case Query::get_num_keys:
    case Query::cancel_wait:
    case Query::list_keys: break;
  }
}

/// Little endian.
template <class T>
void append_number(std::string& out, T number) {
  char raw[sizeof(T)];
  for (char& byte : raw) {
    byte = static_cast<char>(number & 255U);
    number >>= 8U;
  }
  out.append(raw, sizeof(T));
}

}  // namespace

std::optional<Variant> dialect_of(const sim::Buffer& opening) {
  if (opening.empty()) return std::nullopt;
  char bytes[5];
  opening.peek(0, 1, bytes);
  if (bytes[0] != 0) return Variant::torch_1_13;
  if (opening.size() < sizeof(bytes)) return std::nullopt;
  opening.peek(0, sizeof(bytes), bytes);
  return std::string_view(bytes, sizeof(bytes)) == std::string_view("\x00\xCE\xF7\x85\x3C", 5)
             ? Variant::torch_2_x
             : Variant::torch_1_13;
}

std::optional<Request> take_request(sim::Buffer& bytes, Variant dialect) {
  ListProgress none;
  return take_request(bytes, dialect, none);
}

std::optional<Request> take_request(sim::Buffer& bytes, Variant dialect, ListProgress& progress) {
  if (bytes.empty()) return std::nullopt;
  HOOKE_CHECK(progress.position <= bytes.size(), "what has been looked at is still there");
  const Query query = front_query(bytes, dialect);
  Lookahead ahead(bytes);
  static_cast<void>(ahead.skip(1));
  if (!complete(ahead, query, progress)) return std::nullopt;
  progress = {};
  std::optional<Request> taken(std::in_place);
  const std::size_t left = bytes.size() - ahead.position();
  take_apart(bytes, query, *taken);
  HOOKE_CHECK(bytes.size() == left, "a request takes the bytes that were looked at");
  return taken;
}

Message::Message(Query query, Variant dialect) {
  if (checks_store_connections(dialect)) {
    u8(static_cast<std::uint8_t>(query));
    return;
  }
  const auto* const found = std::find(kQueriesOf113.begin(), kQueriesOf113.end(), query);
  if (found == kQueriesOf113.end()) {
    throw std::logic_error("a query that PyTorch 1.13 does not have");
  }
  u8(static_cast<std::uint8_t>(found - kQueriesOf113.begin()));
}

Message& Message::u8(std::uint8_t number) {
  open_ += static_cast<char>(number);
  return *this;
}

Message& Message::u32(std::uint32_t number) {
  append_number(open_, number);
  return *this;
}

Message& Message::u64(std::uint64_t number) {
  append_number(open_, number);
  return *this;
}

Message& Message::key(std::string_view name) {
  open_.reserve(open_.size() + sizeof(std::uint64_t) + 1 + name.size());
  u64(name.size() + 1);
  open_ += '/';
  open_ += name;
  return *this;
}

Message& Message::text(std::string_view text) {
  u64(text.size());
  open_ += text;
  return *this;
}

Message& Message::value(const sim::Value& value) {
  u64(value.size());
  done_.append(std::exchange(open_, {}));
  done_.append(value);
  return *this;
}

sim::Buffer Message::take() {
  done_.append(std::exchange(open_, {}));
  return std::exchange(done_, {});
}

}  // namespace hooke::model
