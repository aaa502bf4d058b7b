#include "scenarios/hunt/failure.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace hooke::hunt {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

/// The witness with "…" for quoted texts and # for numbers, names of nodes and addresses.
std::string without_particulars(std::string_view witness) {
  std::string kind;
  while (!witness.empty()) {
    const char front = witness.front();
    std::size_t length = 1;
    if (const std::size_t closing = witness.find('"', 1); front == '"' && closing != witness.npos) {
      kind += "\"…\"";
      length = closing + 1;
    } else if (in_name(front)) {
      const auto* const end = std::find_if_not(witness.begin(), witness.end(), in_name);
      length = static_cast<std::size_t>(end - witness.begin());
      const bool address =
          length + 1 < witness.size() && witness[length] == ':' && is_digit(witness[length + 1]);
      const bool number = is_digit(front) || (front == '-' && length > 1 && is_digit(witness[1]));
      const bool particular = number || address || kind.ends_with("node ");
      kind += particular ? std::string_view("#") : witness.substr(0, length);
    } else {
      kind += front;
    }
    witness.remove_prefix(length);
  }
  return kind;
}

}  // namespace

FailureKind kind_of(const properties::Violation& violation) {
  return {violation.invariant, without_particulars(violation.witness), violation.limit};
}

std::vector<FailureKind> kinds_of(const scenario::RunReport& report) {
  std::vector<FailureKind> kinds;
  for (const properties::Violation& violation : report.violations) {
    kinds.push_back(kind_of(violation));
  }
  if (!report.harness_failure.empty()) {
    kinds.push_back({"harness", without_particulars(report.harness_failure)});
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

}  // namespace hooke::hunt
