#pragma once
// Which faults were injected, and whether they had an effect. A fault without effect proves
// nothing.

#include <string_view>
#include <vector>

#include "sim/port/check.h"
#include "sim/world/world.h"
#include "sim/world/world_events.h"

namespace hooke::world {

class FaultLog {
 public:
  explicit FaultLog(World& world) : world_(world) {}

  FaultId add(FaultKind kind) {
    HOOKE_CHECK(entries_.size() < UINT32_MAX, "faults can be numbered");
    entries_.push_back({kind, 0, false, std::nullopt});
    return FaultId{static_cast<std::uint32_t>(entries_.size() - 1)};
  }
  /// It, and what it continues, changed what a process experiences. Told once, or per lost reply.
  void feel(FaultId fault);
  /// A process has used what the fault provides, and is not misled by it: the fault had an effect,
  /// but the trace tells of none that could hinder a process.
  void use(FaultId fault);
  /// `fault` is what is left of `earlier`.
  void continues(FaultId fault, FaultId earlier) { entries_.at(fault.value).earlier = earlier; }
  [[nodiscard]] std::uint64_t felt(FaultId fault) const { return entries_.at(fault.value).felt; }
  [[nodiscard]] FaultKind kind(FaultId fault) const { return entries_.at(fault.value).kind; }
  /// The fault has ended; what it has slowed down `lingers`.
  void end(FaultId fault, sim::Duration lingers);

 private:
  struct Entry {
    FaultKind kind;
    std::uint64_t felt;
    bool told;  ///< on the trace
    std::optional<FaultId> earlier;
  };
  World& world_;
  std::vector<Entry> entries_;
};

/// Stable name of a kind, "net_partition".
std::string_view to_string(FaultKind kind);

}  // namespace hooke::world
