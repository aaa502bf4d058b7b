#include "reports/exploration_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/text.h"

namespace hooke::report {
namespace {

using hunt::Exploration;
using hunt::FailureKind;
using hunt::Finding;

double per_second(std::uint64_t count, std::chrono::nanoseconds span) {
  return span.count() == 0 ? 0
                           : static_cast<double>(count) * 1e9 / static_cast<double>(span.count());
}

/// "1 world", "2 worlds".
std::string counted(std::uint64_t count, const std::string& what) {
  return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

/// The most frequent first.
template <class Key>
std::vector<std::pair<Key, Finding>> by_worlds(const std::map<Key, Finding>& findings) {
  std::vector<std::pair<Key, Finding>> out(findings.begin(), findings.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second.worlds > b.second.worlds; });
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// "1,234 of 5,000 worlds (24.7 %)"
std::string broken_of(const Exploration& exploration) {
  const double part = exploration.worlds == 0 ? 0
                                              : 100 * static_cast<double>(exploration.broken) /
                                                    static_cast<double>(exploration.worlds);
  return fmt::format("{} of {} ({:.1f} %)", grouped(exploration.broken),
                     counted(exploration.worlds, "world"), part);
}

std::string findings_table(const std::map<FailureKind, Finding>& findings, const Style& style) {
  std::string out =
      paint(style, "1", fmt::format("\n{:>7}  {:>10}  {}\n", "worlds", "first seed", "promise"));
  for (const auto& [kind, finding] : by_worlds(findings)) {
    out += fmt::format("{:>7}  {:>10}  {}", grouped(finding.worlds), finding.first_seed,
                       paint(style, "31;1", kind.invariant));
    if (!finding.capsule.empty()) out += "  " + finding.capsule;
    const std::string indent(21, ' ');
    std::string cause = indent + wrap(kind.cause, style.width - indent.size(), "");
    for (std::size_t at = 0; (at = cause.find('\n', at)) != std::string::npos;) {
      cause.insert(++at, indent);
    }
    out += "\n" + cause + "\n";
  }
  return out;
}

std::string exhibits_table(const Exploration& exploration, const Style& style) {
  const auto met = std::count_if(exploration.exhibits.begin(), exploration.exhibits.end(),
                                 [](const auto& item) { return item.second.worlds != 0; });
  std::string out =
      paint(style, "1",
            fmt::format("\n{:>7}  {:>10}  {:>11}  of {} looked for, {} met\n", "worlds",
                        "first seed", "one in", exploration.exhibits.size(), met));
  for (const auto& [name, finding] : by_worlds(exploration.exhibits)) {
    if (finding.worlds == 0) {
      out += fmt::format("{:>7}  {:>10}  {:>11}  {}\n", "-", "-", "-", name);
    } else {
      out += fmt::format("{:>7}  {:>10}  {:>11}  {}\n", grouped(finding.worlds), finding.first_seed,
                         grouped(exploration.worlds / finding.worlds), name);
    }
  }
  return out;
}

}  // namespace

std::string progress(const Exploration& so_far, std::uint64_t done, std::uint64_t planned,
                     std::chrono::nanoseconds elapsed) {
  std::string left;
  if (done > 0 && planned > done) {
    const double seconds = static_cast<double>(elapsed.count()) / 1e9 *
                           static_cast<double>(planned - done) / static_cast<double>(done);
    left = fmt::format(", {} left",
                       short_time(std::chrono::seconds(static_cast<std::int64_t>(seconds))));
  }
  return fmt::format("{} of {}: {}, {:.1f}/s, {} broken in {}{}", grouped(done), grouped(planned),
                     counted(so_far.worlds, "world"), per_second(so_far.worlds, elapsed),
                     grouped(so_far.broken), counted(so_far.findings.size(), "way"), left);
}

std::string exploration_table(const Exploration& exploration, const Style& style) {
  std::string out =
      fmt::format("{} in {} ({:.1f}/s, {} events)", counted(exploration.worlds, "world"),
                  short_time(exploration.wall), per_second(exploration.worlds, exploration.wall),
                  grouped(exploration.events));
  if (exploration.twins_differ != 0) {
    out +=
        ", " + paint(style, "31;1", counted(exploration.twins_differ, "pair") + " of twins differ");
  } else if (exploration.twins != 0) {
    out +=
        fmt::format(", {} run twice with the same trace hash",
                    exploration.twins == exploration.worlds ? "each" : grouped(exploration.twins));
  }
  out += "\n";
  if (exploration.findings.empty()) {
    out += paint(style, "32", "every promise was kept in every world") + "\n";
  } else {
    out += fmt::format("{} broke a promise, in {}\n", counted(exploration.broken, "world"),
                       counted(exploration.findings.size(), "way"));
    out += findings_table(exploration.findings, style);
  }
  if (!exploration.exhibits.empty()) out += exhibits_table(exploration, style);
  std::vector<std::string> unfelt;
  for (const auto& [word, count] : exploration.faults) {
    if (count.felt == 0) unfelt.push_back(word);
  }
  const std::vector<std::string> never = exploration.marks_never_reached();
  out += "\n";
  out += unfelt.empty() ? "every kind of fault that happened was felt\n"
                        : "faults that nobody felt: " + joined(unfelt) + "\n";
  out +=
      never.empty() ? "every mark was reached\n" : "marks never reached: " + joined(never) + "\n";
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
  return out + findings_table(beyond, style);
}

}  // namespace hooke::report
