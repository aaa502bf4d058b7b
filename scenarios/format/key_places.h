#pragma once
// A key that stands in the wrong object of a scenario is the likeliest error of a newcomer: which
// object it belongs in, by the schema.

#include <string>
#include <string_view>

namespace hooke::scenario {

/// "; it belongs in /protocol/agent" for a key that the format knows in one place, which is not
/// `pointer`, the object where it was met; else empty.
std::string where_it_belongs(std::string_view key, std::string_view pointer);

}  // namespace hooke::scenario
