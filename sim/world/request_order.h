#pragma once
// The choices by which the order of requests at a service is searched (NetworkOptions::holds).

#include <cstdint>
#include <string_view>

namespace hooke::world {

/// Purpose of the choice whether a request is held; owner: its machine, part: the service's,
/// occurrence: its number among the requests from the one to the other.
inline constexpr std::string_view kHoldPurpose = "service.hold";
/// 0: it is not; up to kHeldBehindMax: behind so many requests of other machines; above: it is not.
inline constexpr std::uint64_t kHoldBound = 64;
inline constexpr std::uint64_t kHeldBehindMax = 3;

}  // namespace hooke::world
