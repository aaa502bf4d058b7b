#pragma once
// Why a scenario violates an invariant, as hooke explain tells it: in the terminal, as JSON, and,
// in page/, on a page.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/style.h"
#include "scenarios/hunt/explainer.h"

namespace hooke::report {

struct Explanation {
  std::string invariant;
  std::string meaning;  ///< what holds in a job without the violation; may be empty
  hunt::CausalStory story;
  hunt::NoReturn no_return;
  std::vector<hunt::Counterfactual> counterfactuals;
  std::size_t worlds = 0;    ///< seeds in each of which a counterfactual was tried
  bool interrupted = false;  ///< there may be more counterfactuals, and a point of no return
};

/// "12.345 s".
std::string at_text(sim::WorldTime at);

/// The violation and the events from which it follows.
std::string story_text(const Explanation& explanation, const Style& style);
/// Empty where no other future was played.
std::string no_return_text(const Explanation& explanation, const Style& style);
std::string counterfactuals_text(const Explanation& explanation, const Style& style);

/// Sentences on where runs that share the past up to a moment begin to fail for certain.
std::vector<std::string> verdicts_on(const hunt::NoReturn& no_return);
/// What happened, how often, and until when: "tries in vain  (3 times)  until 15.000 s".
std::string cause_text(const hunt::CauseLine& line);
nlohmann::ordered_json explanation_json(const Explanation& explanation);

}  // namespace hooke::report
