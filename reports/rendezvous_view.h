#pragma once
// A job's live rendezvous, as a person and as a program sees it.

#include <string>

#include "model/rendezvous/observer.h"

namespace hooke::report {

/// Where it was read.
struct RendezvousPlace {
  std::string backend;
  std::string endpoint;
  std::string run_id;
};

/// Status, master, and one line per node with its rank and the age of its heartbeat by the reader's
/// wall clock `now`.
std::string view_text(const RendezvousPlace& place, const model::RendezvousView& view,
                      sim::WallTime now);

/// The same as one JSON object on one line; ages in seconds, null where a node has no heartbeat.
std::string view_json(const RendezvousPlace& place, const model::RendezvousView& view,
                      sim::WallTime now);

}  // namespace hooke::report
