#pragma once
// The evidence below the first screen of a page, folded up: rounds, agents, what was judged, the
// scenario, the events.

#include <pugixml.hpp>

#include "reports/page/run_page.h"

namespace hooke::report {

void add_details(pugi::xml_node parent, const PageContent& content);

}  // namespace hooke::report
