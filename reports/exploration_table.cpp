#include "reports/exploration_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/account_table.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

using hunt::Exploration;
using hunt::FailureKind;

double per_second(std::uint64_t count, std::chrono::nanoseconds span) {
  return span.count() == 0 ? 0
                           : static_cast<double>(count) * 1e9 / static_cast<double>(span.count());
}

const hunt::Finding& met(const hunt::Finding& finding) {
  return finding;
}
const hunt::Finding& met(const hunt::KnownIssueCount& sought) {
  return sought.met;
}

/// The most frequent first.
template <class Key, class Item>
std::vector<std::pair<Key, Item>> by_worlds(const std::map<Key, Item>& items) {
  std::vector<std::pair<Key, Item>> out(items.begin(), items.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return met(a.second).worlds > met(b.second).worlds;
  });
  return out;
}

/// Other known issues that fail in all the ways of this one: a run that has met them has met it.
std::vector<std::string> doubles_of(const std::string& name, const Exploration& exploration) {
  const std::vector<FailureKind>& own = exploration.known_issues.at(name).kinds;
  std::vector<std::string> out;
  for (const auto& [other, sought] : exploration.known_issues) {
    const std::vector<FailureKind>& theirs = sought.kinds;
    if (other != name && std::includes(theirs.begin(), theirs.end(), own.begin(), own.end()))
      out.push_back(other);
  }
  return out;
}

double median_seconds(const hunt::Finding& finding, const Exploration& exploration) {
  return static_cast<double>(median_worlds(finding.worlds, exploration.worlds)) *
         static_cast<double>(exploration.wall.count()) / 1e9 /
         static_cast<double>(exploration.worlds);
}

/// "1,234 of 5,000 worlds (24.7 %)"
std::string broken_of(const Exploration& exploration) {
  const double part = exploration.worlds == 0 ? 0
                                              : 100 * static_cast<double>(exploration.broken) /
                                                    static_cast<double>(exploration.worlds);
  return fmt::format("{} of {} ({:.1f} %)", grouped(exploration.broken),
                     counted(exploration.worlds, "world"), part);
}

/// Of the failures, or of what is none because no agent could have kept the invariant.
std::string findings_table(const std::map<FailureKind, hunt::Finding>& findings, const Style& style,
                           bool limits) {
  std::string out = paint(style, "1",
                          fmt::format("\n{:>7}  {:>10}  {}\n", "worlds", "first seed",
                                      limits ? "unavoidable violation" : "invariant"));
  for (const auto& [kind, finding] : by_worlds(findings)) {
    if (kind.limit.empty() == limits) continue;
    out += fmt::format("{:>7}  {:>10}  {}", grouped(finding.worlds), finding.first_seed,
                       paint(style, limits ? "1" : "31;1", kind.invariant));
    if (limits) out += ": " + kind.limit;
    if (!finding.reproducer.empty()) out += "  " + finding.reproducer;
    const std::string indent(21, ' ');
    std::string cause = indent + wrap(kind.cause, style.width - indent.size(), "");
    for (std::size_t at = 0; (at = cause.find('\n', at)) != std::string::npos;) {
      cause.insert(++at, indent);
    }
    out += "\n" + cause + "\n";
  }
  return out;
}

std::string known_issues_table(const Exploration& exploration, const Style& style) {
  const auto count = std::count_if(exploration.known_issues.begin(), exploration.known_issues.end(),
                                   [](const auto& item) { return item.second.met.worlds != 0; });
  constexpr const char* kLine = "{:>7}  {:>10}  {:>12}  {:>12}  {}\n";
  std::string out =
      "\n" + paint(style, "1",
                   fmt::format(kLine, "worlds", "first seed", "median seeds", "median",
                               fmt::format("of {} looked for, {} met",
                                           exploration.known_issues.size(), count)));
  for (const auto& [name, sought] : by_worlds(exploration.known_issues)) {
    const hunt::Finding& finding = sought.met;
    const std::size_t doubles = doubles_of(name, exploration).size();
    const std::string title = doubles == 0 ? name : fmt::format("{}, or {} like it", name, doubles);
    if (finding.worlds == 0) {
      out += fmt::format(kLine, "-", "-", "-", "-", title);
    } else {
      out += fmt::format(kLine, grouped(finding.worlds), finding.first_seed,
                         grouped(median_worlds(finding.worlds, exploration.worlds)),
                         fmt::format("{:.1f} s", median_seconds(finding, exploration)), title);
    }
  }
  return out;
}

}  // namespace

std::string progress(const Exploration& so_far, std::uint64_t done, std::uint64_t planned,
                     std::chrono::nanoseconds elapsed, const std::string& left) {
  return fmt::format("playing {} of {}: {}, {:.1f}/s, {} broken in {}{}{}", grouped(done),
                     grouped(planned), counted(so_far.worlds, "world"),
                     per_second(so_far.worlds, elapsed), grouped(so_far.broken),
                     counted(so_far.ways(), "way"), left.empty() ? "" : ", ", left);
}

std::string exploration_head(const Exploration& exploration, const Style& style) {
  std::string out =
      fmt::format("{} in {} ({:.1f}/s, {} events)", counted(exploration.worlds, "world"),
                  short_time(exploration.wall), per_second(exploration.worlds, exploration.wall),
                  grouped(exploration.events));
  if (exploration.determinism_failures != 0) {
    out += ", " + paint(style, "31;1",
                        counted(exploration.determinism_failures, "pair") +
                            " of determinism checks differ");
  } else if (exploration.determinism_checks != 0) {
    out += fmt::format(", {} run twice with the same trace hash",
                       exploration.determinism_checks == exploration.worlds
                           ? "each"
                           : grouped(exploration.determinism_checks));
  }
  out += "\n";
  if (exploration.worlds != 0) out += "digest " + exploration.digest.hex() + "\n";
  if (exploration.not_begun != 0) {
    out += paint(style, "33;1",
                 fmt::format("interrupted, or stopped by its limit of time: {} of what was asked "
                             "for {} not played",
                             grouped(exploration.not_begun),
                             exploration.not_begun == 1 ? "was" : "were")) +
           "\n";
  }
  if (exploration.cut != 0) {
    out += counted(exploration.cut, "world") +
           " stopped by a limit of the harness, judged up to there\n";
  }
  if (exploration.ways() == 0) {
    const char* const limits = exploration.findings.empty() ? "" : " that an agent could keep";
    out +=
        paint(style, "32", fmt::format("every invariant{} was kept in every world", limits)) + "\n";
  } else {
    out += fmt::format("{} violated an invariant, in {}\n", counted(exploration.broken, "world"),
                       counted(exploration.ways(), "way"));
  }
  return out;
}

std::string exploration_gaps(const Exploration& exploration, const Style& style) {
  std::vector<std::string> unfelt;
  for (const auto& [word, count] : exploration.faults) {
    if (count.felt == 0) unfelt.push_back(word);
  }
  const std::vector<std::string> never = exploration.coverage_never_reached();
  const auto told = [&](const char* none, const char* title, const std::vector<std::string>& some) {
    const std::string text = some.empty() ? none : title + joined(some);
    return wrap(text, style.width - 2, "  ") + "\n";
  };
  return told("every kind of fault that happened had an effect",
              "faults without effect: ", unfelt) +
         told("every coverage point was reached", "coverage points never reached: ", never);
}

std::string exploration_table(const Exploration& exploration, const Style& style) {
  std::string out = exploration_head(exploration, style);
  if (exploration.ways() > 0) out += findings_table(exploration.findings, style, false);
  if (exploration.ways() < exploration.findings.size()) {
    out += findings_table(exploration.findings, style, true);
  }
  if (!exploration.known_issues.empty()) out += known_issues_table(exploration, style);
  if (!exploration.accounts.empty()) out += account_table(exploration.accounts, style);
  return out + "\n" + exploration_gaps(exploration, style);
}

std::uint64_t median_worlds(std::uint64_t met, std::uint64_t of) {
  if (met >= of) return 1;
  const double rate = static_cast<double>(met) / static_cast<double>(of);
  return static_cast<std::uint64_t>(std::ceil(std::log(0.5) / std::log1p(-rate)));
}

std::string known_issues_csv(const Exploration& exploration) {
  std::string out = "known_issue,met,worlds,median_worlds,median_seconds,fails_like\n";
  for (const auto& [name, sought] : exploration.known_issues) {
    out += fmt::format("{},{},{},", name, sought.met.worlds, exploration.worlds);
    out += sought.met.worlds == 0
               ? std::string(",")
               : fmt::format("{},{:.1f}", median_worlds(sought.met.worlds, exploration.worlds),
                             median_seconds(sought.met, exploration));
    out += "," + joined(doubles_of(name, exploration), " ") + "\n";
  }
  return out;
}

std::string comparison_table(const Exploration& exploration, const Exploration& other,
                             const Style& style) {
  std::string out =
      fmt::format("broken were {}, against {}\n", broken_of(exploration), broken_of(other));
  const auto beyond = exploration.findings_beyond(other);
  if (beyond.empty()) {
    return out + paint(style, "32", "in no way that the others had not broken, too") + "\n";
  }
  out += fmt::format("{} in which none of the others had broken\n", counted(beyond.size(), "way"));
  return out + findings_table(beyond, style, false);
}

}  // namespace hooke::report
