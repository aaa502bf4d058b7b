#pragma once
// The shared state of a dynamic rendezvous (dynamic_rendezvous.py:_RendezvousState). Nodes exchange it as
// one opaque value; here it is immutable once published and shared by reference between all who read it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/settings.h"

namespace hooke::model {

using NodeRef = std::shared_ptr<const NodeDesc>;

/// A participant and its rank (0 until the round is complete).
struct Participant {
  NodeRef node;
  std::int64_t rank = 0;
};
/// When a node last reported, in wall-clock time of the *writer*, microseconds exact.
struct Heartbeat {
  NodeRef node;
  sim::WallTime at{};
};

/// Lists keep the order of insertion, as Python's dicts do and as the stored bytes show.
struct RendezvousState {
  std::int64_t round = 0;
  bool complete = false;
  std::optional<sim::WallTime> deadline;  ///< end of last call
  bool closed = false;
  std::vector<Participant> participants;
  std::vector<NodeRef> wait_list;
  std::vector<NodeRef> redundancy_list;
  std::vector<Heartbeat> last_heartbeats;
};

using StateRef = std::shared_ptr<const RendezvousState>;

}  // namespace hooke::model
