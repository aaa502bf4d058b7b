#pragma once
// --timeline, and what of it is shown: a run of hundreds of nodes fills no terminal in a useful way.

#include <CLI/CLI.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "reports/style.h"
#include "reports/timeline.h"

namespace hooke::cli {

struct TimelineOptions {
  bool wanted = false;
  bool wide = false;
  std::vector<std::string> nodes;  ///< names, ranges; empty: all
  std::optional<sim::WorldTime> from, to;
};

/// `what` says what --timeline tells.
void add_timeline(CLI::App& command, TimelineOptions& options, const std::string& what);

/// Of a run of these nodes. CLI::ValidationError for a node that is none of them.
report::Timeline timeline_of(std::ostream& out, const std::vector<std::string>& node_names,
                             const report::Style& style, const TimelineOptions& options);

}  // namespace hooke::cli
