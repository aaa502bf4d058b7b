#pragma once
// Which agents there are, by name.

#include "model/agent/agent.h"
#include "model/plugin/registry.h"

namespace hooke::model {

/// with_builtins has "elastic", PyTorch's (elastic_agent.h).
class AgentRegistry : public Registry<AgentKind> {
 public:
  AgentRegistry() : Registry("agent") {}
  static AgentRegistry with_builtins();
};

}  // namespace hooke::model
