// One sentence first, and what explains it below, as on the page of a run.
#include "reports/page/campaign_items.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/page/links.h"
#include "reports/page/markup.h"
#include "reports/page/tables.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

void add_issues(pugi::xml_node item, const CampaignFinding& finding) {
  if (finding.issues.empty()) return;
  pugi::xml_node line = add_class(item, "p", "known");
  say(line, finding.known_ways == finding.ways.size()
                ? "Known: "
                : fmt::format("{} of its {} ways {} known: ", finding.known_ways,
                              finding.ways.size(), finding.known_ways == 1 ? "is" : "are"));
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(finding.issues.size(), kShown); ++i) {
    const CampaignFinding::Issue& issue = finding.issues[i];
    if (i > 0) say(line, "; ");
    add(line, "code", {}, issue.name);
    for (std::size_t j = 0; j < issue.references.size(); ++j) {
      say(line, j == 0 ? ", " : " ");
      const std::string address = thread_address(issue.references[j]);
      if (address.empty()) {
        say(line, issue.references[j]);
      } else {
        add(line, "a", {{"href", address}, {"rel", "noreferrer"}}, issue.references[j]);
      }
    }
  }
  if (finding.issues.size() > kShown) {
    say(line, fmt::format("; and {} more that fail alike", finding.issues.size() - kShown));
  }
  say(line, ".");
}

void add_reproduction(pugi::xml_node item, const CampaignFinding& finding,
                      const std::string& printing) {
  const hunt::Finding& first = finding.ways.front().second;
  pugi::xml_node list = add_class(item, "ul", "commands");
  const auto command = [&](const std::string& text, const char* what) {
    pugi::xml_node line = add(list, "li");
    add(line, "code", {}, text);
    say(line, what);
  };
  const std::string rest = finding.invariant == "harness"
                               ? std::string()
                               : " --invariant " + shell_word(finding.invariant);
  if (!first.reproducer.empty()) {
    command("hooke explain " + shell_word(first.reproducer) + rest, " its reproducer, made small");
  }
  if (printing.empty()) {
    add(list, "li", {},
        fmt::format("World {}: the command of the hunt with --print {} writes it as a scenario.",
                    first.first_seed, first.first_seed));
    return;
  }
  const std::string file = fmt::format("world-{}.json", first.first_seed);
  command(fmt::format("{} --print {} > {} && hooke run {}", printing, first.first_seed, file, file),
          " plays the first world that shows it");
}

/// Of the way, in a sentence of its own.
std::string frequency_of(const CampaignFinding::Way& way) {
  return fmt::format("{}, first in world {}", counted(way.second.worlds, "world"),
                     way.second.first_seed);
}

void add_ways(pugi::xml_node item, const CampaignFinding& finding) {
  if (finding.ways.size() == 1) return;
  pugi::xml_node more = add(item, "details");
  add(more, "summary", {}, fmt::format("All {} ways", finding.ways.size()));
  pugi::xml_node table = add_table(more, {"worlds", "first world", "way", "reproducer"});
  for (const auto& [kind, met] : finding.ways) {
    add_row(table, {grouped(met.worlds), std::to_string(met.first_seed),
                    kind.limit.empty() ? kind.cause : kind.cause + " (" + kind.limit + ")",
                    met.reproducer});
  }
}

void add_item(pugi::xml_node list, const CampaignFinding& finding, std::size_t number,
              const std::string& printing) {
  const bool mild = finding.standing == Standing::unavoidable;
  pugi::xml_node item = add(list, "li",
                            {{"id", fmt::format("finding-{}", number)},
                             {"value", std::to_string(number)},
                             {"class", mild ? "finding mild" : "finding"}});
  pugi::xml_node title = add(item, "p");
  add(title, "b", {}, finding.invariant);
  say(title, finding.ways.size() == 1
                 ? fmt::format(" in {}", frequency_of(finding.ways.front()))
                 : fmt::format(" in {} ways; the most frequent in {}", finding.ways.size(),
                               frequency_of(finding.ways.front())));
  add_class(item, "p", "witness", finding.ways.front().first.cause);
  if (!finding.meaning.empty()) {
    add_class(item, "p", "note", "It should be: " + finding.meaning);
  }
  if (mild) {
    add_class(item, "p", "note",
              "Unavoidable under these faults: no agent could use " +
                  finding.ways.front().first.limit + ".");
  }
  add_issues(item, finding);
  add_reproduction(item, finding, printing);
  add_ways(item, finding);
}

}  // namespace

void add_campaign_items(pugi::xml_node parent, const std::vector<CampaignFinding>& findings,
                        const CampaignContent& content) {
  const bool looked_for = !content.exploration->known_issues.empty();
  std::size_t number = 0;
  for (const Standing standing : {Standing::fresh, Standing::known, Standing::unavoidable}) {
    pugi::xml_node list;
    for (const CampaignFinding& finding : findings) {
      if (finding.standing != standing) continue;
      if (!list) {
        const bool fresh = standing == Standing::fresh;
        add(parent, "h2",
            {{"id", fresh                         ? "new"
                    : standing == Standing::known ? "known"
                                                  : "unavoidable"}},
            fresh                         ? (looked_for ? "New findings" : "Findings")
            : standing == Standing::known ? "Known findings"
                                          : "Unavoidable");
        if (fresh && !looked_for) {
          add_class(parent, "p", "note",
                    "No known issues were looked for: --known-issues DIRECTORY tells which of "
                    "these are new.");
        }
        if (number == 0) {
          add_class(parent, "p", "note", "# stands for a name, a number or a time, … for a text.");
        }
        list = add_class(parent, "ol", "findings");
      }
      add_item(list, finding, ++number, content.printing);
    }
  }
}

}  // namespace hooke::report
