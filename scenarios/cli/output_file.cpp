// The name beside is the process' own, so that two commands with one place do not mix.
#include "scenarios/cli/output_file.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <stdexcept>

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;

/// The file itself, where `path` is a link to one.
std::string place_of(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  return error ? path : place.string();
}

bool can_be_replaced(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

OutputFile::OutputFile(const std::string& flag, const std::string& path) : path_(place_of(path)) {
  if (path.empty()) return;
  if (can_be_replaced(path_)) {
    beside_ = path_ + ".part-" + std::to_string(getpid());
    open(beside_, std::ios::binary);
  }
  if (!is_open()) {
    beside_.clear();
    clear();
    open(path_, std::ios::binary);
  }
  if (!is_open()) throw CLI::ValidationError(flag, path + " cannot be written");
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (!beside_.empty()) fs::remove(beside_, ignored);
}

void OutputFile::finish() {
  if (!is_open()) return;
  close();
  if (!*this) {
    throw std::runtime_error(path_ + ": expected room for all of it, the disk had less");
  }
  if (beside_.empty()) return;
  std::error_code error;
  const fs::file_status before = fs::status(path_, error);
  if (fs::exists(before)) fs::permissions(beside_, before.permissions(), error);
  fs::rename(beside_, path_, error);
  if (error) throw std::runtime_error(path_ + ": " + error.message());
  beside_.clear();
}

}  // namespace hooke::cli
