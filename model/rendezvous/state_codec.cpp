// Lazy payloads: a state, and a Base64 text, that turn into bytes only when somebody looks.
#include "model/rendezvous/state_codec.h"

#include <optional>

#include "model/rendezvous/pickle_reader.h"
#include "model/rendezvous/pickle_writer.h"

namespace hooke::model {
namespace {

class PickledState final : public sim::Payload {
 public:
  PickledState(StateRef state, Variant variant) : state_(std::move(state)), variant_(variant) {}
  [[nodiscard]] std::size_t size() const override {
    if (!size_) size_ = pickled_state_bytes(*state_, variant_);
    return *size_;
  }
  [[nodiscard]] const std::string& bytes() const override {
    if (!bytes_) bytes_ = pickle_state(*state_, variant_);
    return *bytes_;
  }
  [[nodiscard]] const StateRef& state() const { return state_; }
  [[nodiscard]] Variant variant() const { return variant_; }

 private:
  StateRef state_;
  Variant variant_;
  mutable std::optional<std::size_t> size_;
  mutable std::optional<std::string> bytes_;
};

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(const std::string& bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::size_t i = 0;
  const auto at = [&bytes](std::size_t j) { return static_cast<unsigned char>(bytes[j]); };
  for (; i + 2 < bytes.size(); i += 3) {
    const unsigned word = static_cast<unsigned>(at(i) << 16 | at(i + 1) << 8 | at(i + 2));
    for (int shift = 18; shift >= 0; shift -= 6) out += kAlphabet[word >> shift & 63U];
  }
  if (i + 1 == bytes.size()) {
    out += {kAlphabet[at(i) >> 2], kAlphabet[at(i) << 4 & 63], '=', '='};
  } else if (i + 2 == bytes.size()) {
    const unsigned word = static_cast<unsigned>(at(i) << 8 | at(i + 1));
    out += {kAlphabet[word >> 10U], kAlphabet[word >> 4U & 63U], kAlphabet[word << 2U & 63U], '='};
  }
  return out;
}

int digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

std::string from_base64(const std::string& text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  unsigned word = 0;
  unsigned digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=' && digits >= 2) {
      const std::size_t needed = digits == 2 ? 2 : 1;
      std::size_t padding = 0;
      for (std::size_t j = i; j < text.size() && padding < needed; ++j)
        padding += text[j] == '=' ? 1 : 0;
      if (padding < needed) break;
      word <<= 6U * (4 - digits);
      out += static_cast<char>(word >> 16U & 255U);
      if (digits == 3) out += static_cast<char>(word >> 8U & 255U);
      return out;
    }
    const int value = digit_value(text[i]);
    if (value < 0) continue;
    word = word << 6U | static_cast<unsigned>(value);
    if (++digits == 4) {
      for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift & 255U);
      word = 0;
      digits = 0;
    }
  }
  if (digits != 0) {
    throw RendezvousStateError("the stored state is not Base64: byte " +
                               std::to_string(text.size()) +
                               ": expected padding, got the end of the data");
  }
  return out;
}

class Base64Text final : public sim::Payload {
 public:
  explicit Base64Text(sim::Value inner) : inner_(std::move(inner)) {}
  [[nodiscard]] std::size_t size() const override { return (inner_.size() + 2) / 3 * 4; }
  [[nodiscard]] const std::string& bytes() const override {
    if (!bytes_) bytes_ = to_base64(inner_.bytes());
    return *bytes_;
  }
  [[nodiscard]] const sim::Value& inner() const { return inner_; }

 private:
  sim::Value inner_;
  mutable std::optional<std::string> bytes_;
};

}  // namespace

sim::Value encode_state(StateRef state, Variant variant) {
  return sim::Value(std::make_shared<PickledState>(std::move(state), variant));
}

StateRef decode_state(const sim::Value& value, Variant variant) {
  if (const auto* ours = dynamic_cast<const PickledState*>(value.payload().get());
      ours != nullptr && ours->variant() == variant) {
    return ours->state();
  }
  return std::make_shared<const RendezvousState>(unpickle_state(value.bytes(), variant));
}

sim::Value base64_encode(const sim::Value& value) {
  return sim::Value(std::make_shared<Base64Text>(value));
}

sim::Value base64_decode(const sim::Value& text) {
  if (const auto* ours = dynamic_cast<const Base64Text*>(text.payload().get()))
    return ours->inner();
  return sim::Value(from_base64(text.bytes()));
}

}  // namespace hooke::model
