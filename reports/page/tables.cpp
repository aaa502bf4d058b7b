#include "reports/page/tables.h"

#include <fmt/format.h>

#include <vector>

#include "reports/page/markup.h"
#include "reports/text.h"

namespace hooke::report {

pugi::xml_node add_part(pugi::xml_node parent, const std::string& title) {
  pugi::xml_node details = add_class(parent, "details", "part");
  add(details, "summary", {}, title);
  return details;
}

pugi::xml_node add_table(pugi::xml_node parent, std::initializer_list<const char*> columns) {
  pugi::xml_node scroll = add_class(parent, "div", "scroll");
  pugi::xml_node table = add(scroll, "table");
  pugi::xml_node head = add(add(table, "thead"), "tr");
  for (const char* const column : columns) add(head, "th", {}, column);
  return add(table, "tbody");
}

void add_row(pugi::xml_node table, std::initializer_list<std::string> cells) {
  pugi::xml_node row = add(table, "tr");
  for (const std::string& cell : cells) add(row, "td", {}, cell);
}

void add_accounts(pugi::xml_node parent, const hunt::Accounts& accounts, const std::string& note) {
  if (accounts.empty()) return;
  const auto number = [](std::int64_t count) { return grouped(static_cast<std::uint64_t>(count)); };
  pugi::xml_node part = add_part(parent, "What was judged");
  add_class(part, "p", "note", note);
  pugi::xml_node table =
      add_table(part, {"invariant", "owed", "kept", "violated", "excused", "open", "excused by"});
  for (const auto& [invariant, account] : accounts) {
    std::vector<std::string> by;
    for (const auto& [fault, count] : account.excused_by) {
      by.push_back(fmt::format("{} ({})", fault, number(count)));
    }
    add_row(table, {invariant, number(account.owed()), number(account.kept), number(account.broken),
                    number(account.excused), number(account.open), joined(by)});
  }
}

}  // namespace hooke::report
