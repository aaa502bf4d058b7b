// From top to bottom; the tables at the end are folded up.
#include "reports/page/campaign_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "model/observe/coverage_points.h"
#include "reports/page/assets.h"
#include "reports/page/campaign_findings.h"
#include "reports/page/campaign_items.h"
#include "reports/page/markup.h"
#include "reports/page/tables.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

using hunt::Exploration;

std::size_t count_of(const std::vector<CampaignFinding>& findings, Standing standing) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const CampaignFinding& each) { return each.standing == standing; }));
}

void add_campaign_verdict(pugi::xml_node head, const Exploration& exploration,
                          const std::vector<CampaignFinding>& findings) {
  const std::size_t fresh = count_of(findings, Standing::fresh);
  const std::size_t known = count_of(findings, Standing::known);
  const bool harness = exploration.determinism_failures != 0 ||
                       std::any_of(findings.begin(), findings.end(),
                                   [](const auto& each) { return each.invariant == "harness"; });
  const auto verdict = [&](const char* style, const std::string& words) {
    add(head, "strong", {{"class", std::string("verdict ") + style}, {"id", "verdict"}}, words);
  };
  if (harness) {
    verdict("failed", "the harness failed");
  } else if (fresh + known > 0) {
    std::string words = counted(fresh + known, "invariant") + " violated";
    if (known > 0) words += fmt::format(", {} of them only as known", known);
    verdict("failed", words);
  } else {
    verdict("passed",
            findings.empty() ? "every invariant kept" : "every avoidable violation avoided");
  }
  if (exploration.not_begun != 0) add_class(head, "strong", "verdict", "interrupted");
}

/// How many findings of each kind there are, as links to them.
void add_jumps(pugi::xml_node main, const std::vector<CampaignFinding>& findings, bool looked_for) {
  if (findings.empty()) return;
  pugi::xml_node list = add_class(main, "ul", "key");
  const auto jump = [&](Standing standing, const char* target, const char* words) {
    const std::size_t count = count_of(findings, standing);
    if (count == 0) return;
    add(add(list, "li"), "a", {{"href", target}}, fmt::format("{} {}", count, words));
  };
  jump(Standing::fresh, "#new", looked_for ? "new" : "findings");
  jump(Standing::known, "#known", "known");
  jump(Standing::unavoidable, "#unavoidable", "unavoidable");
}

/// Slices of a bar, with their words in a list below it.
struct BarSlice {
  const char* style;
  std::string words;
  std::uint64_t count;
};

void add_bar(pugi::xml_node parent, const std::string& label, const std::vector<BarSlice>& slices) {
  std::uint64_t whole = 0;
  for (const BarSlice& each : slices) whole += each.count;
  if (whole == 0) return;
  pugi::xml_node bar =
      add(parent, "div", {{"class", "bar"}, {"role", "img"}, {"aria-label", label}});
  pugi::xml_node list = add_class(parent, "ul", "key");
  std::uint64_t before = 0;
  for (const BarSlice& each : slices) {
    if (each.count == 0) continue;
    const auto share = [&](std::uint64_t count) {
      return 100 * static_cast<double>(count) / static_cast<double>(whole);
    };
    const std::string words = fmt::format("{} {}", grouped(each.count), each.words);
    pugi::xml_node piece =
        add(bar, "span",
            {{"class", std::string("segment ") + each.style},
             {"style", fmt::format("left:{:.2f}%;width:{:.2f}%", share(before), share(each.count))},
             {"title", words}});
    if (share(each.count) >= 20) add(piece, "b", {}, words);
    pugi::xml_node item = add(list, "li");
    add_class(item, "span", std::string("swatch ") + each.style);
    say(item, fmt::format("{} ({:.1f} %)", words, share(each.count)));
    before += each.count;
  }
}

void add_played(pugi::xml_node main, const Exploration& exploration) {
  std::string played = fmt::format("{} in {}, {} events", counted(exploration.worlds, "world"),
                                   short_time(exploration.wall), grouped(exploration.events));
  if (exploration.determinism_failures != 0) {
    played += fmt::format("; {} of determinism checks differ",
                          counted(exploration.determinism_failures, "pair"));
  } else if (exploration.determinism_checks != 0) {
    played += fmt::format("; {} run twice with the same trace hash",
                          exploration.determinism_checks == exploration.worlds
                              ? "each"
                              : grouped(exploration.determinism_checks));
  }
  add_class(main, "p", "outcome", played + ".");
  if (exploration.not_begun != 0) {
    add(main, "p", {{"class", "outcome"}, {"id", "interrupted"}},
        fmt::format("Interrupted, or stopped by its limit of time: {} of what was asked for {} "
                    "not played.",
                    grouped(exploration.not_begun), exploration.not_begun == 1 ? "was" : "were"));
  }
  if (exploration.cut != 0) {
    add_class(main, "p", "outcome",
              fmt::format("{} stopped by a limit of the harness, and judged up to there.",
                          counted(exploration.cut, "world")));
  }
  add_bar(main, "Worlds",
          {{"training", "kept every invariant", exploration.worlds - exploration.broken},
           {"peer-lost", "violated one", exploration.broken}});
}

void add_oracle(pugi::xml_node main, const Exploration& exploration) {
  if (exploration.accounts.empty()) return;
  properties::Account whole;
  for (const auto& [invariant, account] : exploration.accounts) whole.add(account);
  const auto count = [](std::int64_t of) { return static_cast<std::uint64_t>(of); };
  add(main, "h2", {{"id", "oracle"}}, "What the invariants could judge");
  add_class(main, "p", "note",
            fmt::format("{} invariants were owed something {} times. Excused: a fault took what an "
                        "agent needed. Open: not yet due at the end.",
                        exploration.accounts.size(), grouped(count(whole.owed()))));
  add_bar(main, "What became of what was owed",
          {{"training", "kept", count(whole.kept)},
           {"peer-lost", "violated", count(whole.broken)},
           {"lost", "excused", count(whole.excused)},
           {"idle", "open", count(whole.open)}});
}

void add_gap(pugi::xml_node main, const char* id, const std::string& title, const std::string& none,
             const std::vector<std::string>& some) {
  add(main, "h2", {{"id", id}}, title);
  if (some.empty()) {
    add(main, "p", {}, none);
    return;
  }
  pugi::xml_node list = add_class(main, "ul", "names");
  for (const std::string& each : some) add(add(list, "li"), "code", {}, each);
}

void add_gaps(pugi::xml_node main, const Exploration& exploration) {
  std::vector<std::string> without_effect;
  for (const auto& [word, count] : exploration.faults) {
    if (count.felt == 0) without_effect.push_back(word);
  }
  add_gap(main, "faults", "Faults without effect",
          exploration.faults.empty() ? "No fault happened."
                                     : "Every kind of fault that happened had an effect.",
          without_effect);
  add_gap(main, "coverage", "Coverage points never reached", "Every coverage point was reached.",
          exploration.coverage_never_reached());
}

void add_campaign_tables(pugi::xml_node main, const Exploration& exploration) {
  add(main, "h2", {}, "Evidence");
  add_accounts(main, exploration.accounts, "How often each invariant had something to judge.");
  if (!exploration.faults.empty()) {
    pugi::xml_node part = add_part(main, fmt::format("Faults ({})", exploration.faults.size()));
    pugi::xml_node table = add_table(part, {"fault", "happened", "had an effect"});
    for (const auto& [word, count] : exploration.faults) {
      add_row(table, {word, grouped(count.happened), grouped(count.felt)});
    }
  }
  pugi::xml_node points =
      add_part(main, fmt::format("Coverage points ({})", model::coverage::kAll.size()));
  pugi::xml_node reached = add_table(points, {"coverage point", "worlds that reached it"});
  for (const std::string_view point : model::coverage::kAll) {
    const auto found = exploration.coverage.find(std::string(point));
    add_row(reached,
            {std::string(point), grouped(found == exploration.coverage.end() ? 0 : found->second)});
  }
  if (!exploration.known_issues.empty()) {
    pugi::xml_node part =
        add_part(main, fmt::format("Known issues ({})", exploration.known_issues.size()));
    pugi::xml_node table = add_table(part, {"known issue", "worlds that met it", "first world"});
    for (const auto& [name, sought] : exploration.known_issues) {
      const bool met = sought.met.worlds > 0;
      add_row(table,
              {name, grouped(sought.met.worlds), met ? std::to_string(sought.met.first_seed) : ""});
    }
  }
  add_class(main, "p", "note identity", "Digest of the worlds " + exploration.digest.hex());
}

}  // namespace

std::string campaign_page(const CampaignContent& content) {
  const Exploration& exploration = *content.exploration;
  const std::vector<CampaignFinding> findings = campaign_findings(exploration, *content.invariants);
  pugi::xml_document document;
  pugi::xml_node main = add(document, "main");
  pugi::xml_node head = add(main, "header");
  add(head, "h1", {}, content.title);
  add_campaign_verdict(head, exploration, findings);
  add_played(main, exploration);
  add_jumps(main, findings, !exploration.known_issues.empty());
  add_campaign_items(main, findings, content);
  add_oracle(main, exploration);
  add_gaps(main, exploration);
  add_campaign_tables(main, exploration);
  std::ostringstream out;
  out << page_head(content.title + " – hooke");
  document.save(
      out, "", pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
  out << page_foot();
  return out.str();
}

}  // namespace hooke::report
