#pragma once
// Folded parts of a page, with a table in each.

#include <initializer_list>
#include <pugixml.hpp>
#include <string>

#include "scenarios/hunt/accounts.h"

namespace hooke::report {

/// A folded part with a title.
pugi::xml_node add_part(pugi::xml_node parent, const std::string& title);
/// A table with the names of its columns; returns its body. It scrolls where it is too wide.
pugi::xml_node add_table(pugi::xml_node parent, std::initializer_list<const char*> columns);
void add_row(pugi::xml_node table, std::initializer_list<std::string> cells);
/// The folded part "What was judged": a row for each invariant, below `note`. Nothing without
/// accounts.
void add_accounts(pugi::xml_node parent, const hunt::Accounts& accounts, const std::string& note);

}  // namespace hooke::report
