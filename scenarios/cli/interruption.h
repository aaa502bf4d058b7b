#pragma once
// Ctrl-C during long work: what is done so far is told.

namespace hooke::cli {

/// From now on a first SIGINT is only remembered; the second ends the process.
void watch_for_interruption();
[[nodiscard]] bool interrupted();

}  // namespace hooke::cli
