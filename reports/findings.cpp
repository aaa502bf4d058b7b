// Groups and sorts.
#include "reports/findings.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hooke::report {
std::vector<Finding> findings_of(const scenario::RunReport& run) {
  std::vector<std::pair<scenario::Severity, std::size_t>> order;
  for (std::size_t i = 0; i < run.violations.size(); ++i) {
    order.emplace_back(scenario::severity_of(run, i), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Finding> findings;
  for (const auto& [severity, index] : order) {
    const properties::Violation& violation = run.violations[index];
    const Weight weight = std::get<Weight>(severity);
    const auto known = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.invariant == violation.invariant && finding.weight == weight;
    });
    if (known == findings.end()) {
      findings.push_back({violation.invariant, {}, weight, violation.limit, 1, violation});
    } else {
      ++known->count;
    }
  }
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
