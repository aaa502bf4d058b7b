#pragma once
// Which worlds a hunt has played, and what happened in each, as one number. Two machines that
// played the same worlds have the same digest, in whatever order and however the worlds were dealt
// out; one event that differs in one world of a million gives another. So a count of worlds can be
// checked: a reader in doubt plays a part of them again.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hooke::hunt {

/// The sum, modulo 2^128, of a hash over the number and the trace hash of each world: sums of parts
/// can be added, and a world that is counted twice shows.
class Digest {
 public:
  /// 32 lower-case hexadecimal digits, or nothing for any other text.
  static std::optional<Digest> from_hex(std::string_view text);
  [[nodiscard]] std::string hex() const;

  void add(std::uint64_t world, std::string_view trace_hash);
  void add(const Digest& part);
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

}  // namespace hooke::hunt
