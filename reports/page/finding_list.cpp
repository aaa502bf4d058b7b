// One sentence first, and what explains it below.
#include "reports/page/finding_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "reports/known_issue_table.h"
#include "reports/page/links.h"
#include "reports/page/markup.h"

namespace hooke::report {
namespace {

std::string standing_of(const Finding& finding) {
  switch (finding.weight) {
    case Weight::unexpected: return "";
    case Weight::allowed: return "The scenario expects it.";
    case Weight::unavoidable:
      return "Unavoidable under these faults: no agent could use " + finding.limit + ".";
  }
  return "";
}

/// Published incidents with that violation: not necessarily this one.
void add_known_issues(pugi::xml_node item, const std::string& invariant) {
  constexpr std::size_t kShown = 2;
  const std::vector<KnownIssue> issues = known_issues_of(invariant);
  if (issues.empty()) return;
  pugi::xml_node line = add_class(item, "p", "note", "Known issues with such a violation: ");
  for (std::size_t i = 0; i < std::min(issues.size(), kShown); ++i) {
    if (i > 0) say(line, "; ");
    const std::string address =
        thread_address(issues[i].reported.substr(0, issues[i].reported.find(',')));
    if (address.empty()) {
      say(line, issues[i].reported);
    } else {
      add(line, "a", {{"href", address}, {"rel", "noreferrer"}}, issues[i].reported);
    }
    say(line, ", " + issues[i].what + " (mended by: " + issues[i].mend + ")");
  }
  say(line, issues.size() > kShown ? fmt::format(". All {}: ", issues.size()) : ". More: ");
  add(line, "code", {}, "hooke help " + invariant);
}

void add_averting(pugi::xml_node item, const Explanation& explanation) {
  pugi::xml_node line = add_class(item, "p", "averts");
  if (explanation.counterfactuals.empty()) {
    say(line, explanation.interrupted ? "Interrupted before a change was found that averts it."
                                      : "None of the single changes that were tried averts it.");
    return;
  }
  add(line, "b", {}, "What averts it: ");
  const auto& changes = explanation.counterfactuals;
  const std::size_t shown = std::min<std::size_t>(changes.size(), 3);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) say(line, i + 1 == shown ? " or " : ", ");
    add(line, "code", {}, changes[i].change);
    if (!changes[i].broken_instead.empty()) {
      say(line, fmt::format(" (but violates {})", fmt::join(changes[i].broken_instead, ", ")));
    }
  }
  say(line, explanation.interrupted ? "; interrupted before all changes were tried." : ".");
  if (changes.size() <= shown) return;
  pugi::xml_node more = add(item, "details");
  add(more, "summary", {},
      fmt::format("All {} changes that avert it, each tried with {} seeds", changes.size(),
                  explanation.worlds));
  pugi::xml_node list = add(more, "ul");
  for (const hunt::Counterfactual& each : changes) {
    pugi::xml_node entry = add(list, "li");
    add(entry, "code", {}, each.change);
    if (!each.broken_instead.empty()) {
      say(entry, fmt::format(" but violates {}", fmt::join(each.broken_instead, ", ")));
    }
  }
}

void add_story(pugi::xml_node item, const Explanation& explanation) {
  pugi::xml_node details = add(item, "details");
  add(details, "summary", {}, "How it came about");
  pugi::xml_node table = add_class(details, "table", "story");
  const auto row = [&](const std::string& at, const std::string& node, const std::string& what,
                       const char* style) {
    pugi::xml_node line = add_class(table, "tr", style);
    add_class(line, "td", "at", at);
    add(line, "td", {}, node);
    add(line, "td", {}, what);
  };
  for (const hunt::CauseLine& line : explanation.story.lines) {
    row(at_text(line.at), line.node, cause_text(line), line.what.starts_with("***") ? "done" : "");
  }
  row(at_text(explanation.story.at), "", explanation.invariant + " is violated", "violated");
}

void add_no_return(pugi::xml_node item, const Explanation& explanation) {
  const auto& futures = explanation.no_return.futures;
  if (futures.empty()) return;
  pugi::xml_node details = add(item, "details");
  add(details, "summary", {}, "Point of no return");
  for (const std::string& sentence : verdicts_on(explanation.no_return)) {
    add(details, "p", {}, sentence + ".");
  }
  const bool alone = futures.front().left_alone.runs > 0;
  pugi::xml_node table = add_class(details, "table", "futures");
  pugi::xml_node head = add(table, "tr");
  add(head, "th", {}, "drawn anew after");
  add(head, "th", {}, "fails as the scenario goes on");
  if (alone) add(head, "th", {}, "fails when left alone");
  const auto cell = [](pugi::xml_node line, const hunt::Share& share) {
    pugi::xml_node at = add(line, "td");
    const double part =
        share.runs == 0 ? 0 : static_cast<double>(share.failed) / static_cast<double>(share.runs);
    pugi::xml_node track = add_class(at, "span", "share");
    add(track, "span", {{"style", fmt::format("width:{:.0f}%", part * 100)}});
    say(at, fmt::format(" {} of {}", share.failed, share.runs));
  };
  for (const hunt::Futures& each : futures) {
    pugi::xml_node line = add(table, "tr");
    add_class(line, "td", "at", at_text(each.moment));
    cell(line, each.as_it_goes_on);
    if (alone) cell(line, each.left_alone);
  }
}

}  // namespace

void add_finding_list(pugi::xml_node parent, const std::vector<Finding>& findings,
                      const std::vector<Explanation>& explanations) {
  if (findings.empty()) return;
  add(parent, "h2", {}, "Findings");
  pugi::xml_node list = add_class(parent, "ol", "findings");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    pugi::xml_node item =
        add(list, "li",
            {{"id", fmt::format("finding-{}", i + 1)},
             {"class", finding.weight == Weight::unexpected ? "finding" : "finding mild"}});
    pugi::xml_node title = add(item, "p");
    add(title, "b", {}, finding.invariant);
    say(title, finding.count == 1 ? " violated at " + at_text(finding.first.at)
                                  : fmt::format(" violated {} times, first at {}", finding.count,
                                                at_text(finding.first.at)));
    add_class(item, "p", "witness", finding.first.witness);
    if (!finding.meaning.empty()) {
      add_class(item, "p", "note", "It should be: " + finding.meaning);
    }
    if (finding.weight == Weight::unexpected) add_known_issues(item, finding.invariant);
    if (const std::string standing = standing_of(finding); !standing.empty()) {
      add_class(item, "p", "note", standing);
    }
    const auto explained =
        std::find_if(explanations.begin(), explanations.end(),
                     [&](const Explanation& each) { return each.invariant == finding.invariant; });
    if (explained == explanations.end()) continue;
    add_averting(item, *explained);
    add_story(item, *explained);
    add_no_return(item, *explained);
  }
}

}  // namespace hooke::report
