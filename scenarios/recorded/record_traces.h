#pragma once
// What a record of the store adds to the files of agents.

#include <string>
#include <vector>

#include "scenarios/recorded/agent_trace.h"
#include "scenarios/recorded/state_record.h"

namespace hooke::scenario {

/// Logs say neither year nor zone: puts their times onto the record's clock, by a multiple of a
/// quarter of an hour, so that what both tell of one round is at one time.
void set_logs_by(const StateRecord& record, std::vector<AgentTrace>& agents);

/// Heartbeats of agents whose logs stop before they say how they ended.
void add_heartbeats(const StateRecord& record, AgentTrace& agent);

/// The members of which no file of their own tells: what the record shows of them.
std::vector<AgentTrace> agents_in(const StateRecord& record, const std::vector<AgentTrace>& known);

}  // namespace hooke::scenario
