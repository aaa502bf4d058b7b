#pragma once
// What the tests of liveness.core share.

#include <cstdint>
#include <string>

#include "event_builder.h"

namespace hooke::properties::test {

/// Of scripts with the usual settings, 20 s of work and 60 s for a lost peer.
inline constexpr sim::Duration kCoreBound = std::chrono::milliseconds(645'200);

/// What is told of the agents of the core that are late.
inline std::string late_in_core(Script& script) {
  return witnesses(script.finish(false), "liveness.core");
}

/// The static one, which has no rounds, where `round` is none.
inline AgentSettings a_backend_of(std::int64_t round) {
  AgentSettings settings;
  if (round < 0) settings.backend = "static";
  return settings;
}

}  // namespace hooke::properties::test
