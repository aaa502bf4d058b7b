// Three answers, one after the other.
#include "reports/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/known_issue_table.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kShareWidth = kBarWidth + 8;

std::string heading(const Style& style, const std::string& text, const std::string& note) {
  return "\n" + paint(style, "1", text) + (note.empty() ? "" : "  " + paint(style, "2", note)) +
         "\n";
}

std::string share_bar(const hunt::Share& share) {
  if (share.runs == 0) return "";
  const std::size_t full = share.failed * kBarWidth / share.runs;
  std::string text;
  for (std::size_t i = 0; i < kBarWidth; ++i) text += i < full ? "█" : "·";
  return text + fmt::format(" {}/{}", share.failed, share.runs);
}

/// One sentence about where a share rises to certainty.
std::string verdict_on(const std::optional<hunt::CauseLine>& turn, bool certain_at_first,
                       const std::string& given) {
  if (!turn) return given + " it can be averted until it happens";
  if (certain_at_first)
    return given + " it failed in every re-run: it was certain from the beginning";
  return fmt::format("{} nothing averts it after {}: {}{}", given, at_text(turn->at),
                     turn->node.empty() ? "" : turn->node + " ", turn->what);
}

std::string_view title_of(hunt::Lever lever) {
  switch (lever) {
    case hunt::Lever::setting: return "setting";
    case hunt::Lever::agents: return "agents";
    case hunt::Lever::scenario: return "scenario";
  }
  return "";
}

ordered_json share_json(const hunt::Share& share) {
  return {{"failed", share.failed}, {"runs", share.runs}};
}

ordered_json line_json(const hunt::CauseLine& line) {
  ordered_json out{{"at_ns", line.at.time_since_epoch().count()}};
  if (!line.node.empty()) out["node"] = line.node;
  out["what"] = line.what;
  if (line.times > 1) out["times"] = line.times;
  if (line.until > line.at) out["until_ns"] = line.until.time_since_epoch().count();
  return out;
}

}  // namespace

std::string at_text(sim::WorldTime at) {
  return seconds(at.time_since_epoch()) + " s";
}

std::string cause_text(const hunt::CauseLine& line) {
  std::string text = line.what;
  if (line.times > 1) text += fmt::format("  ({} times)", line.times);
  if (line.until > line.at) text += "  until " + at_text(line.until);
  return text;
}

/// Published incidents with that violation, not necessarily this one: what mended them may not
/// avert this one, which "What averts it" knows.
std::string issues_like(const std::string& invariant, const Style& style) {
  constexpr std::size_t kShown = 2;
  const std::vector<KnownIssue> issues = known_issues_of(invariant);
  if (issues.empty()) return "";
  std::string text = "similar published incidents, perhaps not this one: ";
  for (std::size_t i = 0; i < std::min(issues.size(), kShown); ++i) {
    text += fmt::format("{}{}, {}", i > 0 ? "; " : "", issues[i].reported, issues[i].what);
  }
  if (issues.size() > kShown) text += fmt::format("; and {} more", issues.size() - kShown);
  text += " (hooke help " + invariant + ")";
  return "  " + paint(style, "2", wrap(text, style.width - 2, "  ")) + "\n";
}

std::string story_text(const Explanation& explanation, const Style& style) {
  std::string out = paint(style, "31;1", explanation.invariant) + " is violated at " +
                    at_text(explanation.story.at) + "\n  " +
                    wrap(explanation.story.witness, style.width - 2, "  ") + "\n";
  if (!explanation.meaning.empty()) {
    const std::string text = "the invariant: " + explanation.meaning;
    out += "  " + paint(style, "2", wrap(text, style.width - 2, "  ")) + "\n";
  }
  out += issues_like(explanation.invariant, style);
  out += heading(style, "How it came about", "the causes of the failure in order of time");
  std::size_t name_width = 1;
  for (const hunt::CauseLine& line : explanation.story.lines) {
    name_width = std::max(name_width, line.node.size());
  }
  name_width = std::min<std::size_t>(name_width, 16);
  const auto row = [&](sim::WorldTime at, const std::string& node, const std::string& text) {
    return fmt::format("{:>13}  {}  {}", at_text(at), pad(fit(node, name_width), name_width), text);
  };
  for (const hunt::CauseLine& line : explanation.story.lines) {
    const std::string text = fit(row(line.at, line.node, cause_text(line)), style.width);
    out += (line.what.starts_with("***") ? paint(style, "33;1", text) : text) + "\n";
  }
  return out +
         paint(style, "31;1",
               row(explanation.story.at, "", explanation.invariant + " is violated")) +
         "\n";
}

std::vector<std::string> verdicts_on(const hunt::NoReturn& no_return) {
  if (no_return.futures.empty()) return {};
  if (!no_return.complete) return {"Interrupted before all moments were tried"};
  const hunt::Futures& first = no_return.futures.front();
  std::vector<std::string> sentences{verdict_on(
      no_return.as_it_goes_on, first.as_it_goes_on.certain(), "With other random draws,")};
  if (first.left_alone.runs > 0) {
    sentences.push_back(
        verdict_on(no_return.left_alone, first.left_alone.certain(), "Without later faults,"));
  }
  return sentences;
}

std::string no_return_text(const Explanation& explanation, const Style& style) {
  const hunt::NoReturn& no_return = explanation.no_return;
  if (no_return.futures.empty()) return "";
  const bool faults = no_return.futures.front().left_alone.runs > 0;
  const hunt::Futures& first_futures = no_return.futures.front();
  const std::string of_runs =
      fmt::format("how many of {} re-runs fail that have the same past up to a moment",
                  std::max(first_futures.as_it_goes_on.runs, first_futures.left_alone.runs));
  std::string out = heading(style, "Point of no return", of_runs);
  out += fmt::format("{:>15}  {}{}\n", "same past up to",
                     faults ? pad("with the later faults", kShareWidth + 2) : "",
                     faults ? "without them" : "failing re-runs");
  const auto& turn = faults ? no_return.left_alone : no_return.as_it_goes_on;
  bool told = false;
  for (const hunt::Futures& each : no_return.futures) {
    const std::string first = share_bar(each.as_it_goes_on);
    std::string line =
        fmt::format("{:>15}  {}{}", at_text(each.moment),
                    faults ? pad(first, kShareWidth + 2) : first, share_bar(each.left_alone));
    const bool here = !told && turn && turn->at <= each.moment;
    if (here) line = paint(style, "31;1", line + "  ◀");
    told = told || here;
    out += line + "\n";
  }
  for (const std::string& sentence : verdicts_on(no_return)) {
    out += "  " + wrap(sentence, style.width - 2, "  ") + "\n";
  }
  return out;
}

std::string counterfactuals_text(const Explanation& explanation, const Style& style) {
  std::string out = heading(style, "What averts it",
                            fmt::format("each held in {} worlds, run twice", explanation.worlds));
  if (explanation.counterfactuals.empty() && !explanation.interrupted) {
    return out + "  none of the single changes that were tried\n";
  }
  for (const hunt::Counterfactual& each : explanation.counterfactuals) {
    out += paint(style, each.broken_instead.empty() ? "32;1" : "33", "  ✓ ") + each.change;
    if (!each.broken_instead.empty()) {
      out += fmt::format("  (but breaks {})", fmt::join(each.broken_instead, ", "));
    }
    out += "\n";
  }
  if (explanation.interrupted) out += "  interrupted: not every change was tried\n";
  return out;
}

ordered_json explanation_json(const Explanation& explanation) {
  ordered_json out{{"invariant", explanation.invariant},
                   {"at_ns", explanation.story.at.time_since_epoch().count()},
                   {"witness", explanation.story.witness}};
  out["story"] = ordered_json::array();
  for (const hunt::CauseLine& line : explanation.story.lines) {
    out["story"].push_back(line_json(line));
  }
  ordered_json& no_return = out["point_of_no_return"];
  no_return["futures"] = ordered_json::array();
  for (const hunt::Futures& each : explanation.no_return.futures) {
    ordered_json future{{"until_ns", each.moment.time_since_epoch().count()},
                        {"as_it_goes_on", share_json(each.as_it_goes_on)}};
    if (each.left_alone.runs > 0) future["left_alone"] = share_json(each.left_alone);
    no_return["futures"].push_back(future);
  }
  if (explanation.no_return.as_it_goes_on) {
    no_return["as_it_goes_on"] = line_json(*explanation.no_return.as_it_goes_on);
  }
  if (explanation.no_return.left_alone) {
    no_return["left_alone"] = line_json(*explanation.no_return.left_alone);
  }
  out["counterfactuals"] = ordered_json::array();
  for (const hunt::Counterfactual& each : explanation.counterfactuals) {
    out["counterfactuals"].push_back({{"change", each.change},
                                      {"lever", std::string(title_of(each.lever))},
                                      {"before", share_json(each.before)},
                                      {"after", share_json(each.after)},
                                      {"broken_instead", each.broken_instead}});
  }
  if (explanation.interrupted) out["interrupted"] = true;
  return out;
}

}  // namespace hooke::report
