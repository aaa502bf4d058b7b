#pragma once
// The planted mistakes as scenarios and judges know them: names, meanings, and the invariants that
// a run with the mistake must break. A mistake counts as found when one of these breaks, not when
// the job fails in some other way that follows from it.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "model/variant/planted.h"

namespace hooke::model {

/// One mistake.
struct PlantedDefect {
  Planted which;
  std::string_view name;
  std::string_view meaning;
  /// Ids of the invariants that forbid what the mistake does, one at least; empty ones fill up.
  std::array<std::string_view, 4> invariants{};

  [[nodiscard]] constexpr bool is_named_by(std::string_view invariant) const {
    return std::find(invariants.begin(), invariants.end(), invariant) != invariants.end();
  }
};

/// All of them, in the order of Planted.
std::span<const PlantedDefect> planted_defects();

}  // namespace hooke::model
