// Lengths are checked before anything is taken.
#include "model/worker/pool_wire.h"

#include <array>
#include <charconv>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::size_t kWord = 4;

void put_word(std::string& out, std::size_t number) {
  HOOKE_CHECK(number <= 0xffff'ffffU, "a length fits into its word");
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    out.push_back(static_cast<char>((number >> shift) & 0xffU));
}

std::size_t word_at(const sim::Buffer& from, std::size_t position) {
  std::array<char, kWord> bytes{};
  HOOKE_CHECK(position + kWord <= from.size(), "a word is read when it is whole");
  from.peek(position, kWord, bytes.data());
  std::size_t number = 0;
  for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

void check_size(std::size_t bytes) {
  if (bytes <= kPoolMessageBytesMax) return;
  throw std::invalid_argument("expected a message of at most " +
                              std::to_string(kPoolMessageBytesMax) + " bytes, got " +
                              std::to_string(bytes));
}

}  // namespace

std::string encode_pool_message(const PoolMessage& message) {
  HOOKE_CHECK(!message.empty(), "a message has a verb");
  std::size_t bytes = kWord;
  for (const std::string& text : message) bytes += kWord + text.size();
  check_size(bytes);
  if (message.size() > kPoolTextsMax) throw std::invalid_argument("a message of too many texts");
  std::string out;
  out.reserve(bytes);
  put_word(out, message.size());
  for (const std::string& text : message) {
    put_word(out, text.size());
    out += text;
  }
  HOOKE_CHECK(out.size() == bytes, "a message is as long as was counted");
  return out;
}

std::optional<PoolMessage> take_pool_message(sim::Buffer& received) {
  if (received.size() < kWord) return std::nullopt;
  const std::size_t count = word_at(received, 0);
  if (count == 0 || count > kPoolTextsMax) {
    throw std::invalid_argument("expected a message of 1 to " + std::to_string(kPoolTextsMax) +
                                " texts, got " + std::to_string(count));
  }
  std::vector<std::size_t> sizes;
  std::size_t bytes = kWord;
  while (sizes.size() < count) {
    if (received.size() < bytes + kWord) return std::nullopt;
    sizes.push_back(word_at(received, bytes));
    bytes += kWord + sizes.back();
    check_size(bytes);
  }
  if (received.size() < bytes) return std::nullopt;
  HOOKE_CHECK(sizes.size() == count, "a message has as many texts as it says");
  const std::size_t before = received.size();
  received.drop(kWord);
  PoolMessage message;
  for (const std::size_t size : sizes) {
    received.drop(kWord);
    message.push_back(received.take_bytes(size));
  }
  HOOKE_CHECK(before - received.size() == bytes, "a message takes the bytes that it was told to");
  return message;
}

std::int64_t pool_number(const std::string& text, std::int64_t low, std::int64_t high) {
  HOOKE_CHECK(low <= high, "some number is allowed");
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < low ||
      number > high) {
    throw std::invalid_argument("expected a number from " + std::to_string(low) + " to " +
                                std::to_string(high) + ", got \"" + text.substr(0, 40) + "\"");
  }
  return number;
}

}  // namespace hooke::model
