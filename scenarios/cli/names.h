#pragma once
// The names that scenarios and results use, with what each means, for hooke list, hooke help and
// the completion of command lines. They come from the tables that give them their meaning.

#include <optional>
#include <string>
#include <vector>

namespace hooke::cli {

inline constexpr const char* kScenarioKind = "scenario";
inline constexpr const char* kWeaknessKind = "weakness";

struct Name {
  std::string kind;  ///< "invariant"
  std::string name;
  std::string text;
  std::string file;  ///< of a scenario
};

/// Those of every kind but scenarios.
std::vector<Name> all_names();

/// The scenarios below that directory. ScenarioError where there is none.
std::vector<Name> scenario_names(const std::optional<std::string>& library);

/// Whether `kind`, as it is written on a command line ("invariants"), means that name.
bool is_of(const Name& name, const std::string& kind);

}  // namespace hooke::cli
