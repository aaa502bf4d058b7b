#include "model/hardened/worker/hardened_failures.h"

#include <algorithm>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {

ProcessFailure describe_failure_whatever_was_written(sim::Ports& ports,
                                                     const ProcessFailure& failure,
                                                     const std::string& error_file,
                                                     Variant variant) {
  try {
    return describe_failure(ports, failure, error_file, variant);
  } catch (const std::runtime_error&) {
    return describe_without_file(ports, failure, variant);
  }
}

const ProcessFailure& first_own_failure(const ProcessFailures& failures) {
  HOOKE_CHECK(!failures.empty(), "a failed group has a failure");
  return *std::min_element(failures.begin(), failures.end(),
                           [](const ProcessFailure& a, const ProcessFailure& b) {
                             if (a.stopped != b.stopped) return b.stopped;
                             return a.timestamp < b.timestamp;
                           });
}

}  // namespace hooke::model
