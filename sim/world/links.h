#pragma once
// The paths between nodes: latency, and what faults do to them. A directed pair of nodes gets its
// state when first used, so that worlds of a hundred thousand nodes stay sparse.

#include <map>
#include <utility>
#include <vector>

#include "sim/kernel/choice.h"
#include "sim/world/machine.h"

namespace hooke::world {

/// One fault that acts on a path (or on a serial service) at present.
struct LinkFault {
  FaultId id;
  FaultKind kind;
  sim::Duration span{};
  std::int64_t amount = 0;
  std::int64_t ratio_ppm = 0;
};

/// One directed path. Small: every message passes through its two.
struct Link {
  Link(const Machine& from_machine, const Machine& to_machine);
  sim::NodeId from;
  sim::NodeId to;
  std::vector<LinkFault> faults;  ///< usually empty
  std::uint64_t from_key;
  std::uint64_t to_key;
  std::uint64_t latencies_drawn = 0;
  std::uint64_t losses_drawn = 0;
  std::uint64_t requests = 0;  ///< that arrived at services, where their order is searched
  sim::WorldTime free_at{};    ///< when net_bandwidth lets the next bytes begin
  /// The first fault of `kind` that acts here, or null.
  [[nodiscard]] const LinkFault* fault(FaultKind kind) const;
  /// Nothing passes: partitioned or clogged.
  [[nodiscard]] const LinkFault* blocked() const;
};

class Links {
 public:
  Links(kernel::ChoiceSource& choices, const NetworkOptions& options)
      : choices_(choices), options_(options) {}

  Link& between(const Machine& from, const Machine& to);
  /// Draws the latency of one message, faults not counted.
  sim::Duration draw_latency(Link& link) const;
  /// Draws whether a write is lost.
  bool draw_loss(Link& link, std::int64_t ratio_ppm) const;
  /// Starts a path fault on all pairs that `paths` names, present and future.
  void add(const PathSet& paths, const LinkFault& fault);
  void remove(FaultId fault);
  /// For how long what has been sent already keeps the paths busy on which `fault` acts.
  [[nodiscard]] sim::Duration backlog(FaultId fault, sim::WorldTime now) const;
  /// True if `paths` names the directed pair.
  static bool covers(const PathSet& paths, sim::NodeId from, sim::NodeId to);

 private:
  kernel::ChoiceSource& choices_;
  const NetworkOptions& options_;
  std::map<std::pair<sim::NodeId, sim::NodeId>, Link> links_;
  std::vector<std::pair<PathSet, LinkFault>> active_;
};

}  // namespace hooke::world
