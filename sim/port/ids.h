#pragma once
// Strong identifiers: a node is not a process, a process is not a fiber, and none is an int.

#include <compare>
#include <cstdint>

namespace hooke::sim {

/// A number that names one thing of kind `Tag`. Ordered and comparable, nothing else: arithmetic on
/// identifiers is always a mistake.
template <class Tag, class Rep>
struct Id {
  Rep value{};
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

/// Dense index of a machine in the world, from 0. `kNoNode` stands for the harness itself.
using NodeId = Id<struct NodeTag, std::uint32_t>;
inline constexpr NodeId kNoNode{0xffffffffU};

/// Operating-system process number, positive; unique per node among living and unreaped processes
/// only, so that reuse can be simulated.
using Pid = Id<struct PidTag, std::int32_t>;

/// TCP port number.
using PortNumber = Id<struct PortNumberTag, std::uint16_t>;

/// Dense number of a fiber, never reused within a run.
using FiberId = Id<struct FiberTag, std::uint64_t>;

/// Position of an event in the trace, from 1; 0 means "no event" (the root cause of a run).
using EventId = Id<struct EventTag, std::uint64_t>;
inline constexpr EventId kNoEvent{0};

}  // namespace hooke::sim
