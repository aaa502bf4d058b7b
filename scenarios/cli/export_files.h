#pragma once
// Where a command writes what it has seen for the programs of others.

#include <CLI/CLI.hpp>
#include <string>

namespace hooke::cli {

/// Empty: not written.
struct ExportPaths {
  std::string perfetto, shiviz, sarif;
};

void add_exports(CLI::App& command, ExportPaths& paths);

}  // namespace hooke::cli
