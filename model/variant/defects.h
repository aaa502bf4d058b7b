#pragma once
// Known failures of earlier releases as switches: a scenario says "with the defect this breaks,
// without it holds".

#include <array>
#include <string_view>

namespace hooke::model {

struct Defect {
  std::string_view name;
  std::string_view meaning;
  std::string_view reference;
};

inline constexpr std::array<Defect, 4> kDefects{{
    {"launcher.shutdown_on_signal",
     "An agent that leaves on a signal closes the rendezvous for everybody.",
     "pytorch/pytorch#67742, #150916"},
    {"worker_store.restart_count_prefix",
     "Workers prefix their keys in the shared store with their own agent's restart count.",
     "pytorch/pytorch#135712"},
    {"rendezvous.complete_stays",
     "A complete round whose last participant has died stays complete, for ever.",
     "pytorch/pytorch#59663"},
    {"health_check.silent_in_exit_barrier",
     "The health check counts an agent that waits in the exit barrier as one without progress.",
     "pytorch/pytorch#178197"},
}};

}  // namespace hooke::model
