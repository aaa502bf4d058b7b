#pragma once
// Which node this is and which limits it applies
// (torch/distributed/elastic/rendezvous/dynamic_rendezvous.py: _NodeDesc, RendezvousTimeout,
// RendezvousSettings). Settings are local: they are neither stored in nor compared through the
// shared state.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/time.h"

namespace hooke::model {

/// How long an operation that can only wait sleeps before it looks again.
inline constexpr sim::Duration kPollInterval = std::chrono::seconds(1);

/// Identity of a participant. Ordered by (addr by code point, pid, local_id); this order assigns
/// ranks. UTF-8 compares by code point when compared as unsigned bytes.
struct NodeDesc {
  /// PyTorch numbers the handlers of a process, of which there are never so many: a number that is
  /// no smaller was drawn.
  static constexpr std::int64_t kHandlersMax = 1 << 16;
  std::string addr;  ///< 1.13 calls it fqdn
  std::int64_t pid = 0;
  std::int64_t local_id = 0;
  friend std::strong_ordering operator<=>(const NodeDesc& a, const NodeDesc& b);
  friend bool operator==(const NodeDesc&, const NodeDesc&) = default;
  /// addr_pid_localid
  [[nodiscard]] std::string text() const;
};

/// Spans of an operation; all > 0, else std::invalid_argument naming the one and its value.
struct RendezvousTimeout {
  sim::Duration join = std::chrono::seconds(600);
  sim::Duration last_call = std::chrono::seconds(30);
  sim::Duration close = std::chrono::seconds(30);
  sim::Duration heartbeat = std::chrono::seconds(5);
  void validate() const;
};

struct RendezvousSettings {
  std::string run_id;
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  RendezvousTimeout timeout;
  sim::Duration keep_alive_interval = std::chrono::seconds(5);
  std::int64_t keep_alive_max_attempt = 3;
  /// How long one read of the backend may take.
  sim::Duration read_timeout = std::chrono::seconds(60);
  Variant variant = Variant::torch_2_x;
  /// Known defect: a complete round whose last participant has died stays complete (#59663).
  bool complete_stays = false;
  /// Known defect: a node of rank 0 only since a later round has no store for workers (#182221).
  bool later_rank_zero_fails = false;
  PlantedSet planted{};
};

}  // namespace hooke::model
