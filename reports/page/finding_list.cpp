// One sentence first, and what explains it below.
#include "reports/page/finding_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/known_issue_table.h"
#include "reports/page/cause_chain.h"
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

void add_reference(pugi::xml_node line, const KnownIssue& issue) {
  const std::string address = thread_address(issue.reported.substr(0, issue.reported.find(',')));
  if (address.empty()) {
    say(line, issue.reported);
  } else {
    add(line, "a", {{"href", address}, {"rel", "noreferrer"}}, issue.reported);
  }
}

/// Published incidents with that violation, not necessarily this one: what mended them may not
/// avert this one, which add_averting tells.
void add_known_issues(pugi::xml_node line, const std::vector<KnownIssue>& issues) {
  constexpr std::size_t kShown = 2;
  if (issues.empty()) return;
  say(line, " · similar published incidents, perhaps not this one: ");
  for (std::size_t i = 0; i < std::min(issues.size(), kShown); ++i) {
    if (i > 0) say(line, ", ");
    add_reference(line, issues[i]);
  }
  if (issues.size() > kShown) say(line, fmt::format(" and {} more", issues.size() - kShown));
}

/// The same in words.
void add_known_issues_in_words(pugi::xml_node parent, const Finding& finding,
                               const std::vector<KnownIssue>& issues) {
  constexpr std::size_t kShown = 6;
  if (issues.empty()) return;
  add_class(parent, "p", "note", "Similar published incidents, perhaps not this one:");
  pugi::xml_node list = add_class(parent, "ul", "note");
  for (std::size_t i = 0; i < std::min(issues.size(), kShown); ++i) {
    pugi::xml_node item = add(list, "li");
    add_reference(item, issues[i]);
    say(item, ": " + issues[i].what);
  }
  pugi::xml_node all = add(list, "li", {}, "what mended each of them: ");
  add(all, "code", {}, "hooke help " + finding.invariant);
}

void add_averting(pugi::xml_node item, const Explanation& explanation) {
  if (explanation.worlds == 0) return;  // it was not asked
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
}

void add_all_changes(pugi::xml_node item, const Explanation& explanation) {
  const auto& changes = explanation.counterfactuals;
  if (changes.empty()) return;
  add(item, "p", {},
      fmt::format("All {} changes that avert it, each tried with {} seeds:", changes.size(),
                  explanation.worlds));
  pugi::xml_node list = add(item, "ul");
  for (const hunt::Counterfactual& each : changes) {
    pugi::xml_node entry = add(list, "li");
    add(entry, "code", {}, each.change);
    if (!each.broken_instead.empty()) {
      say(entry, fmt::format(" but violates {}", fmt::join(each.broken_instead, ", ")));
    }
  }
}

void add_story(pugi::xml_node item, const Explanation& explanation) {
  pugi::xml_node details = add(item, "div");
  add(details, "h3", {}, "How it came about");
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
  pugi::xml_node details = add(item, "div");
  add(details, "h3", {}, "Point of no return");
  for (const std::string& sentence : verdicts_on(explanation.no_return)) {
    add(details, "p", {}, sentence + ".");
  }
  const bool alone = futures.front().left_alone.runs > 0;
  pugi::xml_node table = add_class(details, "table", "futures");
  pugi::xml_node head = add(table, "tr");
  add(head, "th", {}, "same past up to");
  add(head, "th", {}, alone ? "re-runs that fail with the later faults" : "re-runs that fail");
  if (alone) add(head, "th", {}, "without them");
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

/// What a reader opens: the meaning, what is known, and why.
void add_more(pugi::xml_node item, const Finding& finding, const std::vector<KnownIssue>& issues,
              const Explanation* explanation) {
  pugi::xml_node more = add(item, "details");
  add(more, "summary", {},
      explanation == nullptr ? "What it should be" : "What it should be, and how it came about");
  if (!finding.meaning.empty()) add_class(more, "p", "note", finding.meaning);
  if (explanation != nullptr) {
    add_story(more, *explanation);
    add_no_return(more, *explanation);
    add_all_changes(more, *explanation);
  }
  add_known_issues_in_words(more, finding, issues);
}

/// Where page.js lets the reader choose whose causes the lanes show.
void add_choice(pugi::xml_node line, std::size_t number) {
  say(line, " ");
  add_class(line, "span", "choose").append_attribute("data-choice") =
      std::to_string(number).c_str();
}

}  // namespace

void add_finding_list(pugi::xml_node parent, const std::vector<Finding>& findings,
                      const std::vector<Explanation>& explanations) {
  if (findings.empty()) return;
  add(parent, "h2", {}, "Findings");
  pugi::xml_node list = add_class(parent, "ol", "findings");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    const Explanation* const explanation = explanation_of(finding, explanations);
    const auto issues = finding.weight == Weight::unexpected ? known_issues_of(finding.invariant)
                                                             : std::vector<KnownIssue>{};
    pugi::xml_node item =
        add(list, "li",
            {{"id", fmt::format("finding-{}", i + 1)},
             {"class", finding.weight == Weight::unexpected ? "finding" : "finding mild"}});
    add(add_class(item, "p", "witness"), "b", {}, finding.first.witness);
    pugi::xml_node line = add_class(item, "p", "note");
    add(line, "code", {}, finding.invariant);
    say(line, finding.count == 1 ? " violated at " + at_text(finding.first.at)
                                 : fmt::format(" violated {} times, first at {}", finding.count,
                                               at_text(finding.first.at)));
    add_known_issues(line, issues);
    if (explanation != nullptr && !explanation->story.lines.empty() && explanations.size() > 1) {
      add_choice(line, i + 1);
    }
    if (const std::string standing = standing_of(finding); !standing.empty()) {
      add_class(item, "p", "note", standing);
    }
    if (explanation != nullptr) add_averting(item, *explanation);
    add_more(item, finding, issues, explanation);
  }
}

}  // namespace hooke::report
