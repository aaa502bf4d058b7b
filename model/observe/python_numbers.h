#pragma once
// Numbers on a command line or in a configuration, as Python reads them: "010" is ten, "1_000" a
// thousand, "0x1" none.

#include <cstdint>
#include <optional>
#include <string_view>

namespace hooke::model {

/// The text without Python's blanks at both ends.
std::string_view without_blanks(std::string_view text);
/// As int(text); nullopt where Python raises a ValueError, and beyond 64 bits.
std::optional<std::int64_t> python_int(std::string_view text);
/// As float(text), "nan" and "inf" included; nullopt where Python raises a ValueError.
std::optional<double> python_float(std::string_view text);

}  // namespace hooke::model
