// Groups and sorts.
#include "reports/findings.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hooke::report {
namespace {

Weight weight_of(const scenario::RunReport& run, std::size_t violation) {
  if (is_unexpected(run, violation)) return Weight::unexpected;
  return run.violations[violation].limit.empty() ? Weight::allowed : Weight::unavoidable;
}

}  // namespace

std::vector<Finding> findings_of(const scenario::RunReport& run) {
  std::map<std::pair<std::string, Weight>, Finding> found;
  for (std::size_t i = 0; i < run.violations.size(); ++i) {
    const properties::Violation& violation = run.violations[i];
    const Weight weight = weight_of(run, i);
    Finding& finding = found[{violation.invariant, weight}];
    if (finding.count++ > 0 && finding.first.at <= violation.at) continue;
    finding.invariant = violation.invariant;
    finding.weight = weight;
    finding.limit = violation.limit;
    finding.first = violation;
  }
  std::vector<Finding> findings;
  for (auto& [key, finding] : found) findings.push_back(std::move(finding));
  const auto order = [](const Finding& finding) {
    return std::tuple(finding.weight, !finding.invariant.starts_with("safety."), finding.first.at);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
  return findings;
}

std::vector<Finding> findings_of(const scenario::RunReport& run,
                                 const properties::InvariantRegistry& invariants) {
  std::map<std::string, std::string, std::less<>> meanings;
  for (const auto& invariant : invariants.make_all())
    meanings.emplace(invariant->id(), invariant->meaning());
  std::vector<Finding> findings = findings_of(run);
  for (Finding& finding : findings) finding.meaning = meanings[finding.invariant];
  return findings;
}

}  // namespace hooke::report
