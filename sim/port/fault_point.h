#pragma once
// Named places in protocol code where the fault engine may act: kill or pause the process right
// there, delay it, or have its code raise an error. A scenario refers to them by name and passage
// ("the 3rd time at agent.joined").

#include <string_view>

namespace hooke::sim {

class FaultPoint {
 public:
  /// Throws the error of that name, as the code of the process would.
  using Raiser = void (*)(std::string_view error);

  virtual ~FaultPoint() = default;
  /// Reports that the calling fiber is at `name` (a string literal, "agent.joined"). Usually
  /// returns at once; may park, and throws Killed when the process is killed here, or what the
  /// raiser throws when a fault has the process raise an error.
  virtual void reach(std::string_view name) = 0;
  /// A process without a raiser raises nothing: only its code knows its errors.
  virtual void raise_by(Raiser raiser) = 0;
};

}  // namespace hooke::sim
