#pragma once
// Whether what clients say of one register can be true: whether their operations have an order,
// each at an instant between its beginning and its end, in which every one finds what it says it
// found.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/port/time.h"

namespace hooke::properties {

/// What one client knows of one operation. Values are any numbers; 0 is no value: nothing there.
struct RegisterOperation {
  enum class Kind : unsigned char {
    read,     ///< found `value`
    write,    ///< put `value` where `expected`, `value` itself or nothing stood
    attempt,  ///< such a write at any instant after `began`, or none: `ended` says nothing
    unseen,   ///< such an attempt of which it is unknown what it wanted to write
  };
  Kind kind{};
  std::int64_t expected = 0;
  std::int64_t value = 0;
  sim::WorldTime began{}, ended{};
};

struct RegisterHistory {
  /// From one instant to another, both included.
  struct Span {
    sim::WorldTime from{}, to{};
  };
  std::vector<RegisterOperation> operations;
  /// When there may have been another register, or several: whatever overlaps such a span tells
  /// nothing for certain, and afterwards anything may stand there, as in the beginning. In order.
  std::vector<Span> gaps;
  /// From then on what stands there may vanish at any instant.
  std::optional<sim::WorldTime> may_vanish;
};

/// The operations, by their places in `history`, at whose end nothing is left that could be true:
/// the first, and of what begins after it the next, `at_most` of them. Exact, by following all
/// orders at once (Wing and Gong; just in time, Lowe), except where one operation's end can come
/// about in more than `kOrdersMax` ways: there it begins anew as after a gap.
std::vector<std::size_t> contradictions(const RegisterHistory& history, std::size_t at_most);
inline constexpr std::size_t kOrdersMax = 1'000;

}  // namespace hooke::properties
