// Groups and sorts.
#include "reports/page/campaign_findings.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hooke::report {
namespace {

using Issue = CampaignFinding::Issue;

/// The known issues that were met, and one of whose ways is this one.
std::vector<Issue> issues_of(const hunt::FailureKind& kind, const hunt::Exploration& exploration) {
  std::vector<Issue> out;
  for (const auto& [name, sought] : exploration.known_issues) {
    const bool met = sought.met.worlds > 0;
    if (met && std::find(sought.kinds.begin(), sought.kinds.end(), kind) != sought.kinds.end()) {
      out.push_back({name, sought.references});
    }
  }
  return out;
}

void add_way(CampaignFinding& finding, const CampaignFinding::Way& way,
             const hunt::Exploration& exploration) {
  finding.invariant = way.first.invariant;
  finding.ways.push_back(way);
  const std::vector<Issue> issues = issues_of(way.first, exploration);
  if (!issues.empty()) ++finding.known_ways;
  for (const Issue& issue : issues) {
    const bool there = std::any_of(finding.issues.begin(), finding.issues.end(),
                                   [&](const Issue& each) { return each.name == issue.name; });
    if (!there) finding.issues.push_back(issue);
  }
}

int severity_of(const std::string& invariant) {
  return invariant == "harness" ? 0 : invariant.starts_with("safety.") ? 1 : 2;
}

}  // namespace

std::vector<CampaignFinding> campaign_findings(const hunt::Exploration& exploration,
                                               const properties::InvariantRegistry& invariants) {
  std::map<std::string, std::string, std::less<>> meanings;
  for (const auto& invariant : invariants.make_all())
    meanings.emplace(invariant->id(), invariant->meaning());
  std::map<std::pair<std::string, bool>, CampaignFinding> found;
  for (const auto& way : exploration.findings) {
    add_way(found[{way.first.invariant, way.first.limit.empty()}], way, exploration);
  }
  std::vector<CampaignFinding> out;
  for (auto& [key, finding] : found) {
    finding.meaning = meanings[finding.invariant];
    finding.standing = !key.second                                ? Standing::unavoidable
                       : finding.known_ways < finding.ways.size() ? Standing::fresh
                                                                  : Standing::known;
    std::stable_sort(finding.ways.begin(), finding.ways.end(), [](const auto& a, const auto& b) {
      return a.second.worlds > b.second.worlds;
    });
    std::sort(finding.issues.begin(), finding.issues.end(),
              [](const Issue& a, const Issue& b) { return a.name < b.name; });
    out.push_back(std::move(finding));
  }
  const auto before = [](const CampaignFinding& a, const CampaignFinding& b) {
    return std::tuple(a.standing, severity_of(a.invariant), b.ways.front().second.worlds) <
           std::tuple(b.standing, severity_of(b.invariant), a.ways.front().second.worlds);
  };
  std::stable_sort(out.begin(), out.end(), before);
  return out;
}

}  // namespace hooke::report
