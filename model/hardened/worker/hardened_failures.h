#pragma once
// The problem: an error file that is cut off or cannot be read ends the agent, and of two
// failures within a second the one is taken for the cause that the agent itself has brought about
//

#include <string>

#include "model/worker/process_failure.h"

namespace hooke::model {

/// As describe_failure(), but a file that cannot be read or parsed counts as none: a worker that
/// dies while it writes leaves half a file.
ProcessFailure describe_failure_whatever_was_written(sim::Ports& ports,
                                                     const ProcessFailure& failure,
                                                     const std::string& error_file,
                                                     Variant variant);

/// As first_failure(), but a worker that was stopped by its agent is a consequence.
const ProcessFailure& first_own_failure(const ProcessFailures& failures);

}  // namespace hooke::model
