#pragma once
// Durations as people write them: a number with a unit, never bare.

#include <optional>
#include <string>
#include <string_view>

#include "sim/port/time.h"

namespace hooke::scenario {

/// "250us", "1.5s", "-20s", "2m", "1h"; units ns, us, ms, s, m, h. nullopt for anything else, also
/// when it does not fit into 64-bit nanoseconds or has more decimals than nanoseconds.
std::optional<sim::Duration> parse_duration(std::string_view text);

/// The shortest text that parse_duration reads back as `span`.
std::string duration_text(sim::Duration span);

}  // namespace hooke::scenario
