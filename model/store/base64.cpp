// Base64 as Python's base64 module does it: strict when writing; when reading, anything outside the
// alphabet is skipped and the first complete padding ends the text (Modules/binascii.c:a2b_base64).
#include "model/store/base64.h"

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
  const auto at = [&bytes](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  std::size_t to = 0;
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3, to += 4) {
    const unsigned word = at(i) << 16U | at(i + 1) << 8U | at(i + 2);
    HOOKE_CHECK(to + 4 <= out.size(), "a group of digits has its place");
    out[to] = kAlphabet[word >> 18U];
    out[to + 1] = kAlphabet[word >> 12U & 63U];
    out[to + 2] = kAlphabet[word >> 6U & 63U];
    out[to + 3] = kAlphabet[word & 63U];
  }
  if (i < bytes.size()) {
    const unsigned word = at(i) << 16U | at(i + 1) << 8U | at(i + 2);
    HOOKE_CHECK(to + 4 <= out.size(), "a group of digits has its place");
    out[to] = kAlphabet[word >> 18U];
    out[to + 1] = kAlphabet[word >> 12U & 63U];
    if (i + 1 < bytes.size()) out[to + 2] = kAlphabet[word >> 6U & 63U];
  }
  return out;
}

/// Decodes whole groups into `out` until one has a pad, or what is no digit; how many.
std::size_t decode_groups(const std::string& text, std::string& out) {
  std::size_t groups = 0;
  for (; groups * 4 + 4 <= text.size(); ++groups) {
    unsigned word = 0;
    unsigned char any = 0;
    for (std::size_t i = groups * 4; i < groups * 4 + 4; ++i) {
      const unsigned char value = kDigitValues[static_cast<unsigned char>(text[i])];
      any |= value;
      word = word << 6U | value;
    }
    if ((any & kNoDigit) != 0) break;
    HOOKE_CHECK(groups * 3 + 3 <= out.size(), "a group of bytes has its place");
    out[groups * 3] = static_cast<char>(word >> 16U & 255U);
    out[groups * 3 + 1] = static_cast<char>(word >> 8U & 255U);
    out[groups * 3 + 2] = static_cast<char>(word & 255U);
  }
  return groups;
}

std::string from_base64(const std::string& text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const std::size_t groups = decode_groups(text, out);
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
