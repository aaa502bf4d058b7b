#pragma once
// What a hunt has seen as one HTML file that needs nothing else, in the form of the page of a run:
// first the findings and how to reproduce each, then how much was judged and what was not reached.

#include <functional>
#include <string>

#include "properties/invariants/invariant.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::report {

struct CampaignContent {
  const hunt::Exploration* exploration = nullptr;
  const properties::InvariantRegistry* invariants = nullptr;
  std::string title;  ///< "explore", "sweep of job.json"
  /// The command line that writes the world of a number as a scenario file; empty: not known here.
  std::string printing{};
};

/// The whole file, UTF-8.
std::string campaign_page(const CampaignContent& content);

}  // namespace hooke::report
