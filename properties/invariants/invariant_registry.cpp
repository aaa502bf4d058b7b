// The built-in invariants, in the order reports list them.
#include <stdexcept>

#include "properties/invariants/core.h"
#include "properties/invariants/heartbeats.h"
#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"
#include "properties/invariants/liveness.h"
#include "properties/invariants/membership.h"
#include "properties/invariants/processes.h"
#include "properties/invariants/timers.h"

namespace hooke::properties {

void InvariantRegistry::add(Factory factory) {
  const std::string id(factory()->id());
  for (const std::string& known : ids_) {
    if (known == id)
      throw std::invalid_argument("an invariant \"" + id + "\" is registered already");
  }
  ids_.push_back(id);
  factories_.push_back(std::move(factory));
}

std::vector<std::unique_ptr<Invariant>> InvariantRegistry::make_all() const {
  std::vector<std::unique_ptr<Invariant>> out;
  out.reserve(factories_.size());
  const auto view = std::make_shared<JobView>();
  for (const Factory& factory : factories_) out.emplace_back(factory())->bind(view);
  return out;
}

InvariantRegistry InvariantRegistry::with_builtins() {
  InvariantRegistry registry;
  for (const auto make : {make_one_world,
                          make_rank_sanity,
                          make_round_monotonic,
                          make_round_isolation,
                          make_bounds,
                          make_closed_is_final,
                          make_eviction,
                          make_close_authority,
                          make_kill_safety,
                          make_restart_budget,
                          make_gives_up_early,
                          make_first_cause,
                          make_claims_are_true,
                          make_no_orphans,
                          make_store_lifetime,
                          make_store_linearizable,
                          make_polling,
                          make_bootstrap,
                          make_env_contract,
                          make_exit_code_truth,
                          make_no_escaped_error,
                          make_loss_detection,
                          make_formation,
                          make_join_timeout,
                          make_exit,
                          make_barrier_opens,
                          make_restart_stops,
                          make_admission,
                          make_free_seat,
                          make_signals_take_effect,
                          make_no_livelock,
                          make_blip_tolerance,
                          make_timer_safety,
                          make_timer_expiry,
                          make_heartbeat_safety,
                          make_heartbeat_loss_seen}) {
    registry.add(make);
  }
  registry.add(make_core);
  return registry;
}

bool matches(std::string_view pattern, std::string_view id) {
  if (pattern.ends_with('*')) return id.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == id;
}

}  // namespace hooke::properties
