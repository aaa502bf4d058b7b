#pragma once
// Files that a command is told to write.

#include <CLI/CLI.hpp>
#include <fstream>
#include <string>

namespace hooke::cli {

/// Opened before the work, which may take minutes; not open when `path` is empty.
/// CLI::ValidationError naming the flag when it cannot be written.
inline std::ofstream open_for(const std::string& flag, const std::string& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  if (!file) throw CLI::ValidationError(flag, path + " cannot be written");
  return file;
}

}  // namespace hooke::cli
