#pragma once
// An event of a trace that another process has written, with its own copy of everything.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/port/ids.h"
#include "sim/port/trace.h"

namespace hooke::scenario {

struct RawEvent {
  using Field = std::variant<std::int64_t, std::string>;
  sim::WorldTime at{};  ///< by the machine's monotonic clock
  sim::NodeId node{};
  sim::Pid pid{};
  const sim::EventType* type = nullptr;
  std::vector<Field> fields;  ///< as many as the type declares, in its order
  /// By the clock of the process that told it; none where the cluster did.
  std::optional<sim::WallTime> wall{};

  /// The field of that name, which the type must have; 0 or the empty text where it is of the other
  /// kind.
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] Field& field(std::string_view name);

  /// The fields as sinks see them; borrowed from this event.
  [[nodiscard]] std::vector<sim::FieldValue> values() const;
};

}  // namespace hooke::scenario
