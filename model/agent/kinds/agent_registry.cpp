#include "model/agent/kinds/agent_registry.h"

#include <memory>

#include "model/agent/kinds/agents_of_variant.h"

namespace hooke::model {

AgentRegistry AgentRegistry::with_builtins() {
  AgentRegistry registry;
  registry.add("elastic", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<AgentKind>(AgentKind{make_elastic_agent});
  });
  return registry;
}

}  // namespace hooke::model
