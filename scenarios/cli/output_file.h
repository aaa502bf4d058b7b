#pragma once
// Files that a command is told to write.

#include <CLI/CLI.hpp>
#include <fstream>
#include <stdexcept>
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

/// Closes what open_for() has opened. std::runtime_error naming `path` when not all of it could be
/// written, as on a full disk: a command that has not written what it was asked for has failed.
inline void finish(std::ofstream& file, const std::string& path) {
  if (!file.is_open()) return;
  file.close();
  if (!file) throw std::runtime_error(path + ": expected room for all of it, the disk had less");
}

}  // namespace hooke::cli
