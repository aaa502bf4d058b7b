#pragma once
// What a fault has an agent raise at a fault point.

#include <string_view>

namespace hooke::model {

/// Throws the error of that class (model/observe/raised_errors.h), which the agent's code then handles
/// as it handles any other of it.
[[noreturn]] void raise_error(std::string_view class_name);

}  // namespace hooke::model
