#pragma once
// Numbers as the stores keep them: decimal text, by C's rules (c10d/TCPStore.cpp, FileStore.cpp).

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace hooke::model {

/// Parses what C's strtoll would: leading blanks, a sign, digits, anything after them ignored.
inline std::optional<std::int64_t> leading_number(const std::string& text) {
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno == ERANGE) return std::nullopt;
  return number;
}

/// Wraps around in two's complement, as the addition of the original does in practice.
inline std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace hooke::model
