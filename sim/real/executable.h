#pragma once
// Programs by name.

#include <string>

namespace hooke::real {

/// The file that a shell would execute for `program`, or why there is none.
struct Executable {
  std::string path;  ///< empty: there is none
  int error = 0;     ///< an errno: EACCES where a file of that name may not be executed
};

/// Looks in the folders of PATH for a name without a slash.
Executable find_executable(const std::string& program);

}  // namespace hooke::real
