#pragma once
// Which node came to know what from which other one, and when: a row for each node, time to the
// right, an arrow for each message.

#include <pugixml.hpp>
#include <vector>

#include "properties/invariants/invariant.h"
#include "reports/page/run_record.h"

namespace hooke::report {

/// A part that is folded away; none for a run without messages. `violations`: lines across all rows.
void add_space_time(pugi::xml_node parent, const RunRecord& record,
                    const std::vector<properties::Violation>& violations);

/// What the store held, a row for each change; none for a run without any.
void add_store_states(pugi::xml_node parent, const RunRecord& record);

}  // namespace hooke::report
