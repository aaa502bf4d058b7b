#pragma once
// A hash that is the same on every machine and for every compiler (FNV-1a, 64 bits; Fowler, Noll,
// Vo), for names of streams of choices, for keys and for digests. Not against adversaries.

#include <cstdint>
#include <string_view>

namespace hooke::sim {

class Fnv1a {
 public:
  constexpr Fnv1a& byte(unsigned char b) {
    value_ = (value_ ^ b) * 0x100000001b3U;
    return *this;
  }
  /// Its bytes, and no mark of its end.
  constexpr Fnv1a& text(std::string_view bytes) {
    for (const char c : bytes) byte(static_cast<unsigned char>(c));
    return *this;
  }
  /// Eight bytes, the lowest first.
  constexpr Fnv1a& number(std::uint64_t word) {
    for (unsigned i = 0; i < 64; i += 8) byte(static_cast<unsigned char>(word >> i));
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Of one text.
constexpr std::uint64_t fnv1a(std::string_view text) {
  return Fnv1a().text(text).value();
}

}  // namespace hooke::sim
