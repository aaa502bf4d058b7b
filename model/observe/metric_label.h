#pragma once

#include <string>
#include <string_view>

namespace hooke::model {

/// `name="value"` as Prometheus reads it: a line break, a quotation mark and a backslash in the value
/// are escaped (Prometheus, text format of expositions).
std::string metric_label(std::string_view name, std::string_view value);

}  // namespace hooke::model
