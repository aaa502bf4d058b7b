#include "sim/real/executable.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace hooke::real {

Executable find_executable(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (access(program.c_str(), X_OK) == 0) return {program, 0};
    return {"", errno};
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  int error = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return {std::move(file), 0};
    if (errno == EACCES) error = EACCES;
  }
  return {"", error};
}

}  // namespace hooke::real
