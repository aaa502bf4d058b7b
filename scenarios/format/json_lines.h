#pragma once
// Where a person finds in a file what a verdict names.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hooke::scenario {

/// The line, from 1, on which the value begins that `path` names: "expect.rounds.min" (its key),
/// "expect.never.2" (of an array, from 0). nullopt when there is none. `text` has been read as JSON
/// before: of a broken text the answer means nothing.
std::optional<std::size_t> line_of(std::string_view text, std::string_view path);

/// As line_of; where there is no such value, the nearest one above it that is not the outermost:
/// "expect.outcome.n3" is at "outcome" when the file says "n1..n4".
std::optional<std::size_t> nearest_line_of(std::string_view text, std::string path);

}  // namespace hooke::scenario
