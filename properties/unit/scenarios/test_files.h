#pragma once
// The files that the tests of the scenario format read: the library and the corpus of bad input.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hooke::scenario {

inline std::filesystem::path source_directory() {
  const char* directory = std::getenv("HOOKE_SOURCE_DIR");
  return directory == nullptr ? "." : directory;
}

inline std::filesystem::path bad_directory() {
  return source_directory() / "properties/unit/scenarios/bad";
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// All .json files below, in the order of their paths.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<std::filesystem::path> library_files() {
  return files_below(source_directory() / "scenarios/library");
}

}  // namespace hooke::scenario
