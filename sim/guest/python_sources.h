#pragma once
// The Python side of a guest (python/), as it stood when hooke was built.

#include <string_view>
#include <vector>

#include "sim/guest/zygote.h"

namespace hooke::guest {

/// What the interpreter runs first: it receives and executes the modules.
std::string_view bootstrap_source();
/// hooke's own modules in the order in which they are executed.
std::vector<Module> own_modules();

}  // namespace hooke::guest
