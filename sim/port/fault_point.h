#pragma once
// Named places in protocol code where the fault engine may act: kill or pause the process right
// there, or delay it. A scenario refers to them by name and passage ("the 3rd time at
// agent.joined").

#include <string_view>

namespace hooke::sim {

class FaultPoint {
 public:
  virtual ~FaultPoint() = default;
  /// Reports that the calling fiber is at `name` (a string literal, "agent.joined"). Usually
  /// returns at once; may park, and throws Killed when the process is killed here.
  virtual void reach(std::string_view name) = 0;
};

}  // namespace hooke::sim
