#pragma once
// Files that a command is told to write.

#include <fstream>
#include <string>

namespace hooke::cli {

/// Written beside its place and renamed into it when it is whole: what stood there stays until then,
/// whatever becomes of the command. What is no regular file (a pipe, /dev/null), and a file in a
/// directory where no other can be made, is written in place.
class OutputFile : public std::ofstream {
 public:
  /// Opened before the work, which may take minutes; not open when `path` is empty.
  /// CLI::ValidationError naming `flag` when it cannot be written.
  OutputFile(const std::string& flag, const std::string& path);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// std::runtime_error naming the path when not all of it could be written, as on a full disk: a
  /// command that has not written what it was asked for has failed. Nothing when it is not open.
  void finish();

 private:
  std::string path_;
  std::string beside_;  ///< empty: written in place, or finished
};

}  // namespace hooke::cli
