#pragma once
// Accounts of invariants as JSON, for results of runs and of explorations.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "properties/invariants/account.h"

namespace hooke::scenario {
class Place;
}

namespace hooke::hunt {

/// By the invariant's id.
using Accounts = std::map<std::string, properties::Account>;

void add(Accounts& ours, const Accounts& theirs);

nlohmann::ordered_json accounts_json(const Accounts& accounts);
/// scenario::ScenarioError names the place of what is wrong.
Accounts accounts_at(const scenario::Place& place);

/// The same in fewer characters, from one process of a hunt to another: made and read for each
/// world.
nlohmann::ordered_json account_rows(const Accounts& accounts);
/// Likewise.
Accounts accounts_in_rows(const scenario::Place& place);

}  // namespace hooke::hunt
