#pragma once
// A code such as A-21 stands in plans, pages and comments for a weakness of PyTorch: what it is,
// what shows it, and what a hardened agent does instead. From the table in
// scenarios/library/README.md.

#include <string>
#include <string_view>
#include <vector>

namespace hooke::report {

struct Weakness {
  std::vector<std::string> codes;  ///< "A-21"; several where they are one weakness
  std::string what;                ///< "the workers' store is made once per agent"
  std::string shown_by;            ///< scenarios of the library and tests, with commas between
  std::string mended;              ///< what a hardened agent does instead; or "not: " and why
  /// The first scenario that shows it, as a path below the library; empty where only tests do.
  std::string scenario;
};

/// In the order of the table.
std::vector<Weakness> weaknesses();

}  // namespace hooke::report
