#include "scenarios/outcome/node_resolver.h"

#include <algorithm>

namespace hooke::scenario {

std::vector<sim::NodeId> NodeResolver::resolve(const std::vector<std::string>& names) const {
  std::vector<sim::NodeId> nodes;
  const auto add = [&](std::optional<sim::NodeId> node) {
    if (node && std::find(nodes.begin(), nodes.end(), *node) == nodes.end()) nodes.push_back(*node);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const sim::NodeId node : all_) add(node);
    } else if (name == "store_host") {
      add(store_machine_);
    } else if (name == "rank0") {
      add(roster_.rank0());
    } else {
      add(find_(name));
    }
  }
  return nodes;
}

}  // namespace hooke::scenario
