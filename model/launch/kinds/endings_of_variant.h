#pragma once
// PyTorch's endings of an agent, or what mends them: the variant says which.

#include <memory>

#include "model/launch/endings/endings.h"

namespace hooke::model {

/// `spec` says which; both outlive the endings.
std::unique_ptr<Endings> make_endings(sim::Ports& ports, const WorkerSpec& spec);

}  // namespace hooke::model
