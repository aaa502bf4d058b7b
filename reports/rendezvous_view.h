#pragma once
// A job's live rendezvous, as a person and as a program sees it.

#include <string>

#include "model/rendezvous/job_record.h"

namespace hooke::report {

/// Status, master, and one line per node with its rank and the age of its heartbeat. Of a job that
/// has ended, or not begun, it says that and no more. `endpoint`: where it was read.
std::string view_text(const std::string& endpoint, const model::JobRecord& record,
                      std::size_t state_bytes);

/// The same as one JSON object on one line; ages in seconds, null where a node has no heartbeat.
/// "running" tells whether the members behind it are there.
std::string view_json(const std::string& endpoint, const model::JobRecord& record,
                      std::size_t state_bytes);

}  // namespace hooke::report
