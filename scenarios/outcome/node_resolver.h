#pragma once
// Which nodes the names and roles of an entry mean at this moment.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/outcome/roster.h"

namespace hooke::scenario {

class NodeResolver {
 public:
  using Find = std::function<std::optional<sim::NodeId>(const std::string& name)>;
  /// `all`: the machines of agents, in the order of the scenario. `roster` must outlive this.
  NodeResolver(std::vector<sim::NodeId> all, sim::NodeId store_machine, const Roster& roster,
               Find find)
      : all_(std::move(all)),
        store_machine_(store_machine),
        roster_(roster),
        find_(std::move(find)) {}

  /// Each node once, in the order of the names; a role that no node holds and a name that no node
  /// has mean none.
  [[nodiscard]] std::vector<sim::NodeId> resolve(const std::vector<std::string>& names) const;

 private:
  std::vector<sim::NodeId> all_;
  sim::NodeId store_machine_;
  const Roster& roster_;
  Find find_;
};

}  // namespace hooke::scenario
