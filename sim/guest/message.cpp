// The subset of Python/marshal.c that the messages need.
#include "sim/guest/message.h"

#include <array>
#include <limits>

#include "sim/port/check.h"

namespace hooke::guest {
namespace {

constexpr unsigned kDigitBits = 15;  // of a long integer in marshal's form
constexpr std::uint64_t kDigitMask = (1U << kDigitBits) - 1;
constexpr int kDepthMax =
    16;  ///< of lists in lists: messages have few, and a fiber's stack is small

constexpr std::array<const char*, 6> kKinds{"None",   "a truth", "a number",
                                            "a text", "bytes",   "a list"};

template <class T>
const T& get(const auto& value, std::size_t expected) {
  if (const T* const found = std::get_if<T>(&value)) return *found;
  throw GuestError(std::string("the guest sent ") + kKinds[value.index()] + ", expected " +
                   kKinds[expected]);
}

void put_word(std::string& out, std::uint32_t word) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((word >> shift) & 0xffU));
  }
}

void put_length(std::string& out, std::size_t length) {
  if (length > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw GuestError("a message to the guest is too long");
  }
  put_word(out, static_cast<std::uint32_t>(length));
}

void put_number(std::string& out, std::int64_t number) {
  if (number >= std::numeric_limits<std::int32_t>::min() &&
      number <= std::numeric_limits<std::int32_t>::max()) {
    out.push_back('i');
    return put_word(out, static_cast<std::uint32_t>(number));
  }
  const bool negative = number < 0;
  std::uint64_t rest =
      negative ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number);
  std::string digits;
  std::int32_t count = 0;
  for (; rest != 0; rest >>= kDigitBits, ++count) {
    digits.push_back(static_cast<char>(rest & 0xffU));
    digits.push_back(static_cast<char>((rest & kDigitMask) >> 8U));
  }
  constexpr std::int32_t kDigitsLeast = 3, kDigitsMost = 5;  // of 33 to 64 bits
  HOOKE_CHECK(count >= kDigitsLeast && count <= kDigitsMost, "a number of 64 bits has few digits");
  out.push_back('l');
  put_word(out, static_cast<std::uint32_t>(negative ? -count : count));
  out += digits;
}

void put_string(std::string& out, char kind, const std::string& text) {
  out.push_back(kind);
  put_length(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Message read(int depth) {
    HOOKE_CHECK(depth >= 0, "a list lies in another one, or in none");
    if (depth > kDepthMax) fail("lists that are not so deep");
    const char kind = take(1, "a value")[0];
    switch (kind) {
      case 'N': return {};
      case 'T': return true;
      case 'F': return false;
      case 'i': return std::int64_t{static_cast<std::int32_t>(word())};
      case 'l': return long_number();
      case 'u': return std::string(take(length(), "a text"));
      case 's': return Bytes{std::string(take(length(), "bytes"))};
      case '(':
      case '[': return list(depth);
      default: --at_; fail("a value of a known kind");
    }
  }
  void expect_end() const {
    if (at_ != bytes_.size()) fail("the end");
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw GuestError("message of the guest, byte " + std::to_string(at_) + ": expected " +
                     expected);
  }
  std::string_view take(std::size_t count, const char* what) {
    if (bytes_.size() - at_ < count) fail(what);
    at_ += count;
    HOOKE_CHECK(at_ <= bytes_.size(), "no byte is read behind the end");
    return bytes_.substr(at_ - count, count);
  }
  std::uint32_t word() {
    const std::string_view four = take(4, "four bytes");
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      out |= static_cast<std::uint32_t>(static_cast<unsigned char>(four[i])) << (8 * i);
    }
    return out;
  }
  std::size_t length() {
    const std::uint32_t found = word();
    if (found > bytes_.size() - at_) fail("a length that fits");
    return found;
  }
  Message long_number() {
    const auto count = static_cast<std::int32_t>(word());
    const bool negative = count < 0;
    const std::int64_t digits = negative ? -std::int64_t{count} : count;
    std::uint64_t magnitude = 0;
    for (std::int64_t i = 0; i < digits; ++i) {
      const std::string_view two = take(2, "a digit");
      const std::uint64_t digit = static_cast<unsigned char>(two[0]) |
                                  static_cast<std::uint64_t>(static_cast<unsigned char>(two[1]))
                                      << 8U;
      const auto shift = static_cast<unsigned>(i) * kDigitBits;
      if (digit > kDigitMask || shift >= 64 || ((digit << shift) >> shift) != digit) {
        fail("a number of 64 bits");
      }
      magnitude |= digit << shift;
    }
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (magnitude > kMost + (negative ? 1 : 0)) fail("a number of 64 bits");
    return static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude);
  }
  Message list(int depth) {
    const std::size_t count = length();
    Message::List out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out.push_back(read(depth + 1));
    return out;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

bool Message::truth() const {
  return get<bool>(value_, 1);
}

std::int64_t Message::number() const {
  return get<std::int64_t>(value_, 2);
}

const std::string& Message::text() const {
  return get<std::string>(value_, 3);
}

const std::string& Message::bytes() const {
  return get<Bytes>(value_, 4).data;
}

const Message::List& Message::list() const {
  return get<List>(value_, 5);
}

const Message& Message::at(std::size_t index) const {
  const List& all = list();
  if (index >= all.size()) {
    throw GuestError("the guest sent a list of " + std::to_string(all.size()) +
                     ", expected more than " + std::to_string(index));
  }
  return all[index];
}

std::string encode(const Message& message) {
  std::string out;
  const auto& value = message.value_;
  if (const auto* truth = std::get_if<bool>(&value)) {
    out.push_back(*truth ? 'T' : 'F');
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    put_number(out, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    put_string(out, 'u', *text);
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    put_string(out, 's', bytes->data);
  } else if (const auto* list = std::get_if<Message::List>(&value)) {
    out.push_back('(');
    put_length(out, list->size());
    for (const Message& element : *list) out += encode(element);
  } else {
    out.push_back('N');
  }
  return out;
}

Message decode(std::string_view bytes) {
  Reader reader(bytes);
  Message out = reader.read(0);
  reader.expect_end();
  return out;
}

}  // namespace hooke::guest
