// Base64 as Python's base64 module does it: strict when writing; when reading, anything outside the
// alphabet is skipped and the first complete padding ends the text (Modules/binascii.c:a2b_base64).
#include "model/store/base64.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned char kNoDigit = 64;

constexpr std::array<unsigned char, 256> kDigitValues = [] {
  std::array<unsigned char, 256> values{};
  values.fill(kNoDigit);
  for (unsigned char i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = i;
  }
  return values;
}();

std::size_t base64_bytes(std::size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

std::string to_base64(const std::string& bytes) {
  std::string out(base64_bytes(bytes.size()), '=');
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  char* to = out.data();
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3, to += 4) {
    const unsigned word = unsigned{from[0]} << 16U | unsigned{from[1]} << 8U | from[2];
    to[0] = kAlphabet[word >> 18U];
    to[1] = kAlphabet[word >> 12U & 63U];
    to[2] = kAlphabet[word >> 6U & 63U];
    to[3] = kAlphabet[word & 63U];
  }
  if (left > 0) {
    const unsigned word = unsigned{from[0]} << 16U | (left == 2 ? unsigned{from[1]} << 8U : 0U);
    to[0] = kAlphabet[word >> 18U];
    to[1] = kAlphabet[word >> 12U & 63U];
    if (left == 2) to[2] = kAlphabet[word >> 6U & 63U];
    to += 4;
  }
  HOOKE_CHECK(to == out.data() + out.size(), "each group of digits has its place");
  return out;
}

/// Decodes whole groups into `out` until one has a pad, or what is no digit; how many.
std::size_t decode_groups(const std::string& text, std::string& out) {
  const std::size_t whole = text.size() / 4;
  HOOKE_CHECK(out.size() >= whole * 3, "each group of bytes has its place");
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  char* to = out.data();
  for (std::size_t groups = 0; groups < whole; ++groups, from += 4, to += 3) {
    const unsigned a = kDigitValues[from[0]], b = kDigitValues[from[1]];
    const unsigned c = kDigitValues[from[2]], d = kDigitValues[from[3]];
    if (((a | b | c | d) & kNoDigit) != 0) return groups;
    to[0] = static_cast<char>(a << 2U | b >> 4U);
    to[1] = static_cast<char>(b << 4U | c >> 2U);
    to[2] = static_cast<char>(c << 6U | d);
  }
  return whole;
}

std::string from_base64(const std::string& text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const std::size_t groups = decode_groups(text, out);
  HOOKE_CHECK(groups * 4 <= text.size(), "no more is decoded than there is");
  std::size_t size = groups * 3;
  unsigned word = 0;
  unsigned digits = 0;  // of the current group of four
  unsigned pads = 0;    // in a row, skipped characters aside
  for (const char c : std::string_view(text).substr(groups * 4)) {
    if (c == '=') {
      if (digits >= 2 && digits + ++pads >= 4) {
        out.resize(size);
        return out;
      }
      continue;
    }
    const unsigned value = kDigitValues[static_cast<unsigned char>(c)];
    if (value == kNoDigit) continue;
    pads = 0;
    word = word << 6U | value;
    digits = (digits + 1) % 4;
    // The second, third and fourth digit of a group each complete a byte.
    HOOKE_CHECK(size < out.size(), "a byte has its place");
    if (digits != 1) out[size++] = static_cast<char>(word >> (4 - digits) % 4 * 2 & 255U);
  }
  if (digits != 0) {
    throw Base64Error("not Base64: byte " + std::to_string(text.size()) +
                      ": expected padding, got the end of the text");
  }
  out.resize(size);
  return out;
}

class Base64Text final : public sim::Payload {
 public:
  explicit Base64Text(sim::Value inner) : inner_(std::move(inner)) {}
  [[nodiscard]] std::size_t size() const override { return base64_bytes(inner_.size()); }
  [[nodiscard]] const std::string& bytes() const override {
    if (!bytes_) bytes_ = to_base64(inner_.bytes());
    HOOKE_CHECK(bytes_->size() == size(), "a text is as long as was said before it was made");
    return *bytes_;
  }
  [[nodiscard]] std::optional<bool> same_bytes(const sim::Payload& other) const override {
    const auto* text = dynamic_cast<const Base64Text*>(&other);
    if (text == nullptr) return std::nullopt;
    return inner_ == text->inner_;
  }
  [[nodiscard]] const sim::Value& inner() const { return inner_; }

 private:
  sim::Value inner_;
  mutable std::optional<std::string> bytes_;
};

}  // namespace

std::size_t base64_digits(std::string_view text) {
  const auto* const end = std::find_if(text.begin(), text.end(), [](char c) {
    return kDigitValues[static_cast<unsigned char>(c)] == kNoDigit;
  });
  return static_cast<std::size_t>(end - text.begin());
}

sim::Value base64_encode(const sim::Value& value) {
  return sim::Value(std::make_shared<Base64Text>(value));
}

sim::Value base64_decode(const sim::Value& text) {
  if (const auto* ours = dynamic_cast<const Base64Text*>(text.payload().get())) {
    return ours->inner();
  }
  if (const auto* stored = dynamic_cast<const StoredText*>(text.payload().get())) {
    std::shared_ptr<const void>& decoded = stored->reading(StoredText::kAsBase64);
    if (decoded == nullptr) {
      decoded = std::make_shared<const StoredText>(from_base64(stored->bytes()));
    }
    return sim::Value(std::static_pointer_cast<const StoredText>(decoded));
  }
  return sim::Value(from_base64(text.bytes()));
}

}  // namespace hooke::model
