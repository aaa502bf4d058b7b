#pragma once
// What the invariants have judged, for a person.

#include <string>

#include "reports/style.h"
#include "scenarios/hunt/accounts.h"

namespace hooke::report {

/// A line for each invariant: how often it was owed, and what became of that. The invariants of
/// which the smallest share was judged come first.
std::string account_table(const hunt::Accounts& accounts, const Style& style);

}  // namespace hooke::report
