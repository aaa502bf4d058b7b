#pragma once
// What a hunt has seen as JUnit XML, which nearly every CI service reads.

#include <cstddef>
#include <functional>
#include <string>

#include "reports/page/campaign_page.h"

namespace hooke::report {

/// Where a person looks at a way of failing.
struct JunitPlace {
  std::string file;      ///< a scenario file; empty: none is known
  std::size_t line = 0;  ///< from 1; 0: of the file as a whole
};
using PlaceOf = std::function<JunitPlace(const hunt::Finding&)>;

/// JUnit XML in the form of that of `hooke run` (to_junit in machine.h): a suite of one test case for
/// each way in which worlds broke, and for each invariant that every world kept. A way that some
/// agent could have avoided is a failure of the type of its invariant, one that none could have
/// avoided is skipped, a failure of the harness is an error, and so are two runs of one world that
/// differ. The properties of a suite say in how many worlds, which was the first, and how to have it.
std::string campaign_junit(const CampaignContent& content, const PlaceOf& place_of);

}  // namespace hooke::report
