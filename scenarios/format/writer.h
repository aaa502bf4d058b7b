#pragma once
// A Scenario back to JSON text, defaults left out: what a generator or a shrinker hands to a
// person.

#include <string>

#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// Pretty JSON in the order of the format; load_scenario gives the same value back.
std::string write_scenario(const Scenario& scenario);

}  // namespace hooke::scenario
