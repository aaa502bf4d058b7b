#pragma once
// The space in which a hunt draws worlds. Not every world gets a little of everything: each has its
// own set of kinds of fault that may happen in it at all, its own length, sizes and timeouts
// (swarm testing: Groce, Zhang, Eide, Chen, Regehr, ISSTA 2012). What crowds out something else in
// one world is absent from the next.

#include <cstdint>
#include <string>
#include <vector>

#include "model/variant/variant.h"
#include "scenarios/format/scenario.h"

namespace hooke::hunt {

using sim::Duration;

/// Both ends included.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

struct Swarm {
  std::vector<model::Variant> variants{model::Variant::torch_2_x};
  /// Each node has a variant of its own, of `variants`; else a world has one for all.
  bool mixed = false;
  std::vector<std::string> defects;  ///< switched on in every world
  std::vector<std::string> backends{"c10d",    "c10d",    "c10d",  "c10d", "etcd",
                                    "etcd-v2", "etcd-v3", "static"};  ///< twice is as likely
  /// Replaceable parts of the agents, each NAME[:KEY=VALUE,...] as in a scenario.
  std::vector<std::string> process_launchers{"local"};
  /// None: PyTorch's, but another in one world of eight of those that begin with hardened agents.
  std::vector<std::string> restart_policies, shutdowns;
  Range nodes{1, 7};
  Range spare_seats{0, 3};    ///< max_nodes above min_nodes
  Range surplus_nodes{0, 1};  ///< nodes above max_nodes
  Range workers_per_node{1, 2};
  Range max_restarts{0, 3};
  Range faults{0, 4};
  std::vector<std::string> words{"*"};         ///< patterns of timeline words that may happen
  std::vector<std::string> fault_points{"*"};  ///< patterns of points where something may happen
  std::vector<kernel::Strategy> strategies{kernel::Strategy::fifo,   kernel::Strategy::random,
                                           kernel::Strategy::walk,   kernel::Strategy::pct,
                                           kernel::Strategy::delays, kernel::Strategy::holds};
  /// In every other world some nodes are healed when its faults are over, and all else stays
  /// broken. Such a world may last longer than `time_limit`: as long as the core may take.
  bool cores = true;
  Duration time_limit = std::chrono::minutes(20);
  friend bool operator==(const Swarm&, const Swarm&) = default;
};

/// The space that a JSON text describes: keys as the members of Swarm, each optional, ranges as
/// [low, high]. scenario::ScenarioError names the place of what is wrong; `source` names the text.
Swarm load_swarm(std::string_view text, const std::string& source);

/// World number `seed` of the space: the same for ever, and one that the loader would accept. It
/// expects nothing; its seed is `seed`.
scenario::Scenario draw(const Swarm& swarm, std::uint64_t seed);

/// What hooke's agents and PyTorch's own can both play of the default space: c10d, in the plain
/// order of fibers, without the fault points that only hooke's code has.
Swarm differential_swarm();

}  // namespace hooke::hunt
