#pragma once
// How many hardened agents each failure needs to disappear, as a table in Markdown.

#include <string>
#include <vector>

#include "scenarios/hunt/mixture.h"

namespace hooke::report {

/// One line for each invariant that the scenario of `mixture` breaks. `name`: what it is called
/// there.
std::string mixture_rows(const hunt::Mixture& mixture, const std::string& name);
/// One line for each invariant that only mixtures break.
std::string only_mixed_rows(const hunt::Mixture& mixture, const std::string& name);

/// Both tables, of the rows of all scenarios; the second only where there is anything in it.
std::string mixture_tables(const std::string& rows, const std::string& only_mixed);

}  // namespace hooke::report
