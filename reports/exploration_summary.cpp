// Ways of one invariant become one line.
#include "reports/exploration_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "reports/exploration_table.h"
#include "reports/known_issue_table.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

using hunt::Exploration;
using properties::Account;

/// Without the places and times that a way leaves open anyway.
std::string brief(std::string cause) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kShorter{{
      {"the agent on node # (pid #)", "an agent"},
      {" (pid #)", ""},
      {" at # s", ""},
      {"pid # on node #", ""},
      {"  ", " "},
  }};
  for (const auto& [longer, shorter] : kShorter) {
    for (std::size_t at = 0; (at = cause.find(longer, at)) != std::string::npos;) {
      cause.replace(at, longer.size(), shorter);
    }
  }
  return cause;
}

/// An invariant that was violated.
struct Line {
  std::string invariant;
  std::uint64_t ways = 0;
  std::uint64_t worlds = 0;  ///< of its most frequent way
  std::uint64_t first_seed = 0;
  std::string cause;  ///< of that way
};

std::vector<Line> lines_of(const Exploration& exploration) {
  std::map<std::string, Line> by_invariant;
  for (const auto& [kind, finding] : exploration.findings) {
    if (!kind.limit.empty()) continue;
    Line& line = by_invariant[kind.invariant];
    line.invariant = kind.invariant;
    ++line.ways;
    if (finding.worlds <= line.worlds) continue;
    line.worlds = finding.worlds;
    line.first_seed = finding.first_seed;
    line.cause = kind.cause;
  }
  std::vector<Line> out;
  for (auto& [invariant, line] : by_invariant) out.push_back(std::move(line));
  const auto order = [](const Line& line) {
    return std::tuple(!line.invariant.starts_with("safety."), -static_cast<double>(line.worlds));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const Line& a, const Line& b) { return order(a) < order(b); });
  return out;
}

std::string violations_text(const Exploration& exploration, const Style& style) {
  const std::vector<Line> lines = lines_of(exploration);
  if (lines.empty()) return "";
  std::string out = paint(style, "1",
                          fmt::format("\n{:>7} {:>5} {:>10} {:>5}  {:<28} {}\n", "worlds", "ways",
                                      "first seed", "known", "invariant", "its most frequent way"));
  bool known = false;
  for (const Line& line : lines) {
    const std::size_t issues = known_issues_of(line.invariant).size();
    known = known || issues != 0;
    const std::string numbers =
        fmt::format("{:>7} {:>5} {:>10} {:>5}  ", grouped(line.worlds), line.ways, line.first_seed,
                    issues == 0 ? "-" : std::to_string(issues));
    const std::string name = fmt::format("{:<28} ", line.invariant);
    const std::size_t used = numbers.size() + name.size();
    const std::size_t left = style.width > used + 20 ? style.width - used : 20;
    out += numbers + paint(style, "31;1", name) + fit(brief(line.cause), left) + "\n";
  }
  if (known) out += "known: published issues of that invariant; hooke help INVARIANT has them\n";
  return out;
}

std::string unavoidable_text(const Exploration& exploration) {
  std::map<std::string, std::uint64_t> worlds;
  for (const auto& [kind, finding] : exploration.findings) {
    if (!kind.limit.empty()) worlds[kind.limit] += finding.worlds;
  }
  if (worlds.empty()) return "";
  const auto most =
      std::max_element(worlds.begin(), worlds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format(
      "unavoidable: {} in which no agent could have kept an invariant, most for {}\n",
      counted(exploration.findings.size() - exploration.ways(), "way"), most->first);
}

std::string known_issues_text(const Exploration& exploration) {
  constexpr std::size_t kNamesMax = 6;
  std::vector<std::pair<std::uint64_t, std::string>> met;
  for (const auto& [name, issue] : exploration.known_issues) {
    if (issue.met.worlds > 0) met.emplace_back(issue.met.worlds, name);
  }
  if (exploration.known_issues.empty()) return "";
  std::stable_sort(met.begin(), met.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(met.size(), kNamesMax); ++i) {
    names.push_back(fmt::format("{} ({})", met[i].second, grouped(met[i].first)));
  }
  if (met.size() > kNamesMax) names.push_back(fmt::format("{} more", met.size() - kNamesMax));
  return fmt::format("known issues: {} of {} met{}{}\n", met.size(),
                     exploration.known_issues.size(), met.empty() ? "" : ": ", joined(names));
}

/// Of all that was owed, and the invariant of which least was judged.
std::string account_text(const Exploration& exploration) {
  std::int64_t owed = 0, judged = 0;
  const std::pair<const std::string, Account>* least = nullptr;
  const auto share = [](const Account& account) {
    return 100 * static_cast<double>(account.judged()) / static_cast<double>(account.owed());
  };
  for (const auto& row : exploration.accounts) {
    if (row.second.owed() == 0) continue;
    owed += row.second.owed();
    judged += row.second.judged();
    if (least == nullptr || share(row.second) < share(least->second)) least = &row;
  }
  if (least == nullptr) return "";
  return fmt::format("judged: {:.1f} % of what was owed to {} invariants; least {}, {:.1f} %\n",
                     100 * static_cast<double>(judged) / static_cast<double>(owed),
                     exploration.accounts.size(), least->first, share(least->second));
}

}  // namespace

std::string exploration_summary(const Exploration& exploration, const Style& style,
                                const std::string& next) {
  return exploration_head(exploration, style) + violations_text(exploration, style) + "\n" +
         unavoidable_text(exploration) + known_issues_text(exploration) +
         account_text(exploration) + exploration_gaps(exploration, style) + next;
}

}  // namespace hooke::report
