// A table each.
#include "reports/page/details.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/page/markup.h"
#include "reports/page/space_time.h"
#include "reports/page/tables.h"
#include "reports/text.h"
#include "scenarios/format/writer.h"

namespace hooke::report {
namespace {

std::string members_text(const RoundRecord& round) {
  constexpr std::size_t kNames = 8;
  std::vector<std::string> names;
  for (const auto& [rank, node] : round.members) {
    if (names.size() == kNames) break;
    names.push_back(node);
  }
  std::string text = joined(names);
  if (round.members.size() > kNames) {
    text += fmt::format(" and {} more", round.members.size() - kNames);
  }
  return text;
}

void add_rounds(pugi::xml_node parent, const RunRecord& record) {
  constexpr std::size_t kRows = 200;
  const std::vector<RoundRecord> rounds = record.rounds();
  if (rounds.empty()) return;
  pugi::xml_node part = add_part(parent, fmt::format("Rounds ({})", rounds.size()));
  pugi::xml_node table = add_table(part, {"job", "round", "first wanted to join", "complete",
                                          "took", "members by rank", "ended"});
  for (std::size_t i = 0; i < std::min(rounds.size(), kRows); ++i) {
    const RoundRecord& round = rounds[i];
    const bool known = round.completed != sim::WorldTime{} && !round.members.empty();
    add_row(table, {round.run_id, std::to_string(round.round),
                    round.members.empty() ? "" : at_text(round.began),
                    round.completed == sim::WorldTime{} ? "not seen" : at_text(round.completed),
                    known ? short_time(round.completed - round.began) : "", members_text(round),
                    round.ended_by.empty() ? "" : at_text(round.ended) + ", " + round.ended_by});
  }
  if (rounds.size() > kRows) {
    add_class(part, "p", "note", fmt::format("The first {} of {}.", kRows, rounds.size()));
  }
}

void add_agents(pugi::xml_node parent, const scenario::RunReport& run) {
  constexpr std::size_t kRows = 500;
  if (run.agents.empty()) return;
  pugi::xml_node part = add_part(parent, fmt::format("Agents ({})", run.agents.size()));
  pugi::xml_node table =
      add_table(part, {"node", "job", "outcome", "exit code", "ended", "detail"});
  for (std::size_t i = 0; i < std::min(run.agents.size(), kRows); ++i) {
    const scenario::AgentResult& agent = run.agents[i];
    add_row(table, {agent.node, agent.run_id, agent.outcome,
                    agent.exit_code ? std::to_string(*agent.exit_code) : "",
                    agent.ended == sim::WorldTime{} ? "" : at_text(agent.ended), agent.detail});
  }
  if (run.agents.size() > kRows) {
    add_class(part, "p", "note", fmt::format("The first {} of {}.", kRows, run.agents.size()));
  }
}

void add_events(pugi::xml_node parent, const RunRecord& record) {
  pugi::xml_node part = add_part(parent, fmt::format("Events ({})", grouped(record.line_count())));
  if (record.line_count() > record.lines().size()) {
    add_class(part, "p", "note",
              fmt::format("The first {} of {}; hooke run --trace FILE writes all.",
                          grouped(record.lines().size()), grouped(record.line_count())));
  }
  add(part, "div", {{"class", "filter"}, {"data-filters", "events"}});
  pugi::xml_node scroll = add_class(part, "div", "scroll tall");
  pugi::xml_node body = add(add(scroll, "table", {{"id", "events"}}), "tbody");
  for (const EventLine& line : record.lines()) {
    pugi::xml_node row = add(body, "tr");
    add_class(row, "td", "at", at_text(line.at));
    add(row, "td", {}, line.node);
    add(row, "td", {}, line.text);
  }
}

}  // namespace

void add_details(pugi::xml_node parent, const PageContent& content) {
  const scenario::RunReport& run = content.result->run;
  add(parent, "h2", {}, "Evidence");
  add_rounds(parent, *content.record);
  add_store_states(parent, *content.record);
  add_space_time(parent, *content.record, run.violations);
  add_agents(parent, run);
  add_accounts(parent, run.accounts,
               "How often each invariant had something to judge. Excused: a fault took what an "
               "agent needed. Open: not yet due when the run ended.");
  if (content.scenario != nullptr) {
    pugi::xml_node part = add_part(parent, "Scenario");
    add(add_class(part, "pre", "scroll"), "code", {}, scenario::write_scenario(*content.scenario));
  }
  add_events(parent, *content.record);
  if (run.hash.empty()) {  // no world of hooke's: a recorded job
    add_class(parent, "p", "note identity", fmt::format("{} events", grouped(run.events)));
    return;
  }
  add_class(parent, "p", "note identity",
            fmt::format("{}world {}, seed {}, {} events, trace hash {}",
                        content.result->file.empty() ? "" : content.result->file + ", ",
                        content.result->world, run.seed, grouped(run.events), run.hash));
}

}  // namespace hooke::report
