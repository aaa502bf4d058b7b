#pragma once
// The scenario files that a command line names.

#include <string>
#include <vector>

namespace hooke::cli {

/// Files as given, directories as all scenario files below them in the order of their paths.
/// scenario::ScenarioError for a directory without any.
std::vector<std::string> scenario_files(const std::vector<std::string>& paths);

}  // namespace hooke::cli
