#pragma once
// PyTorch's agent, or what mends it: the variant says which. This is above the agent itself,
// because only here it is known what mends it.

#include <memory>

#include "model/agent/agent.h"

namespace hooke::model {

/// `parts.spec` says which. std::invalid_argument as from ElasticAgent.
std::unique_ptr<Agent> make_elastic_agent(const AgentParts& parts);

}  // namespace hooke::model
