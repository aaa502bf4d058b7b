#pragma once
// What can be switched on in the model to make it worse, by name: a scenario says "with the defect
// this breaks, without it holds".

#include <array>
#include <string_view>
#include <vector>

#include "model/variant/planted_table.h"

namespace hooke::model {

/// A known failure of an earlier release.
struct Defect {
  std::string_view name;
  std::string_view meaning;
  std::string_view reference;
};

inline constexpr std::array<Defect, 6> kDefects{{
    {"launcher.shutdown_on_signal",
     "An agent that leaves on a signal closes the rendezvous for everybody.",
     "pytorch/pytorch#67742, #150916"},
    {"worker_store.restart_count_prefix",
     "Workers prefix their keys in the shared store with their own agent's restart count.",
     "pytorch/pytorch#135712"},
    {"rendezvous.complete_stays",
     "A complete round whose last participant has died stays complete, for ever.",
     "pytorch/pytorch#59663"},
    {"rendezvous.later_rank_zero_fails",
     "An agent that becomes rank 0 only in a later round has no store for the workers, and fails.",
     "pytorch/pytorch#182221"},
    {"health_check.silent_in_exit_barrier",
     "The health check counts an agent that waits in the exit barrier as one without progress.",
     "pytorch/pytorch#178197"},
    {"worker.killed_waited_for_without_limit",
     "An agent waits without limit for a worker that not even SIGKILL ends.",
     "pytorch/pytorch#185414"},
}};

/// The names of all known failures, then those of all planted ones.
std::vector<std::string_view> defect_names();

/// The planted ones among the names of defects.
template <class Names>
PlantedSet planted_among(const Names& names) {
  PlantedSet out;
  for (const auto& name : names) {
    for (const PlantedDefect& planted : planted_defects()) {
      if (planted.name == name) out.add(planted.which);
    }
  }
  return out;
}

}  // namespace hooke::model
