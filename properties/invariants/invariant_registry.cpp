// The built-in invariants, in the order reports list them.
#include <stdexcept>

#include "properties/invariants/builtins.h"
#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"

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
  for (const auto add :
       {add_one_world, add_ranks,    add_environments, add_meeting,     add_rounds,   add_last_call,
        add_processes, add_restarts, add_departures,   add_first_cause, add_failures, add_settings,
        add_claims,    add_stores,   add_polling,      add_progress,    add_seats,    add_endings,
        add_hearing,   add_stops,    add_steadiness,   add_heartbeats,  add_core,     add_waits}) {
    add(registry);
  }
  return registry;
}

bool matches(std::string_view pattern, std::string_view id) {
  if (pattern.ends_with('*')) return id.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == id;
}

}  // namespace hooke::properties
