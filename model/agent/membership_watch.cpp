#include "model/agent/membership_watch.h"

namespace hooke::model {

const char* MembershipWatch::cause_to_restart() {
  return nodes_waiting() > 0 ? cause_to_follow() : nullptr;
}

const char* MembershipWatch::cause_to_follow() {
  return "membership_change";
}

std::int64_t MembershipWatch::nodes_waiting() {
  return core_.handler.num_nodes_waiting();
}

}  // namespace hooke::model
