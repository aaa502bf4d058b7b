#pragma once
// The library of scenarios that comes with the program, and any directory like it.

#include <optional>
#include <string>
#include <vector>

namespace hooke::cli {

/// A scenario file of a library.
struct LibraryScenario {
  std::string name;         ///< its path in the library without ".json": "smoke/late-joiner"
  std::string file;         ///< as `hooke run` takes it
  std::string description;  ///< the scenario's own; may be empty
};

/// The library of an installation (share/hooke/library beside the program's bin, also in a wheel),
/// else that of the source tree in whose build directory the program is (build, or .build/release);
/// nullopt where neither is.
std::optional<std::string> library_of_program();

/// All below `directory`, in the order of their paths. scenario::ScenarioError where it is no
/// directory, has no scenarios, or has a file that is none.
std::vector<LibraryScenario> scenarios_below(const std::string& directory);

/// The first sentence of a description.
std::string first_sentence(const std::string& text);

}  // namespace hooke::cli
