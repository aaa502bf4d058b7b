#pragma once
// The Python modules that make PyTorch's agent a guest (python/).

#include <vector>

#include "sim/guest/zygote.h"

namespace hooke::scenario {

/// In the order in which they are executed; the last one is the program.
std::vector<guest::Module> torch_modules();

}  // namespace hooke::scenario
