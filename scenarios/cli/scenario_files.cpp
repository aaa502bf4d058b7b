#include "scenarios/cli/scenario_files.h"

#include <algorithm>
#include <filesystem>

#include "scenarios/format/json_reader.h"

namespace hooke::cli {

namespace fs = std::filesystem;

std::vector<std::string> scenario_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> below;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.path().extension() == ".json") below.push_back(entry.path().string());
    }
    std::sort(below.begin(), below.end());
    if (below.empty())
      throw scenario::ScenarioError(path + ": expected scenario files below it, got none");
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

}  // namespace hooke::cli
