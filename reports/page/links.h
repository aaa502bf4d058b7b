#pragma once
// Where a reader of a page may go on.

#include <string>

namespace hooke::report {

/// The address of "owner/name#number", or of what is one already; empty for any other text.
std::string thread_address(const std::string& reference);

}  // namespace hooke::report
