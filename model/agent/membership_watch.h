#pragma once
// Why workers that are well are started anew: other nodes want in
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._invoke_run, what it asks the
// rendezvous at each look).

#include <cstdint>

#include "model/agent/agent_core.h"

namespace hooke::model {

class MembershipWatch {
 public:
  /// `core` outlives it.
  explicit MembershipWatch(AgentCore& core) : core_(core) {}
  virtual ~MembershipWatch() = default;

  /// "membership_change"; null: for nothing. A failing backend ends a healthy agent.
  virtual const char* cause_to_restart();
  /// False: cause_to_restart() has none, and does nothing. True also where that is not known.
  [[nodiscard]] virtual bool may_have_news() { return core_.handler.may_have_news(); }
  /// Of a restart because others want another round with this node.
  virtual const char* cause_to_follow();

 protected:
  virtual std::int64_t nodes_waiting();

  AgentCore& core_;
};

}  // namespace hooke::model
