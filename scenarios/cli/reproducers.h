#pragma once
// For each way in which worlds of a hunt broke, one of them, made small: a file to replay.

#include <functional>
#include <string>

#include "scenarios/format/scenario.h"
#include "scenarios/hunt/exploration.h"
#include "sim/kernel/kernel.h"

namespace hooke::cli {

/// The world that showed a finding first.
using FirstWorld = std::function<scenario::Scenario(kernel::Kernel&, const hunt::FailureKind&,
                                                    const hunt::Finding&)>;

/// Shrinks the first world of each finding, `jobs` at a time, and writes them below `directory`,
/// which is made; the findings get their names. `quiet`: no line that says how far it is.
/// std::system_error when a file cannot be written.
void write_reproducers(hunt::Exploration& exploration, const FirstWorld& first_world,
                       const std::string& directory, unsigned jobs, bool quiet);

}  // namespace hooke::cli
