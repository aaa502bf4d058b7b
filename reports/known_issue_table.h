#pragma once
// The published incidents of the library, by the invariant that each violates, with where to read
// on. From scenarios/library/known_issues/by_invariant.tsv.

#include <string>
#include <string_view>
#include <vector>

namespace hooke::report {

struct KnownIssue {
  std::string number;    ///< in the index of known issues
  std::string what;      ///< "one agent that leaves closes the rendezvous for all"
  std::string reported;  ///< "pytorch/pytorch#117066, #152525"
  std::string scenario;  ///< its path in the tree
  std::string mend;      ///< "a longer last call"; or "not mended: " and why
};

/// In the order of the index; empty where none violates `invariant`.
std::vector<KnownIssue> known_issues_of(std::string_view invariant);

}  // namespace hooke::report
