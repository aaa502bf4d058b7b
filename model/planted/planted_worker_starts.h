#pragma once
// Mistakes about what a worker is told of its place in the job, for tests of the oracle.

#include <cstdint>
#include <map>
#include <string>

#include "model/agent/worker_starts.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: WorkerStarts or HardenedWorkerStarts.
template <class Base>
class PlantedWorkerStarts final : public Base {
 public:
  using Base::Base;

 protected:
  [[nodiscard]] std::map<std::string, std::string> environment_of(
      std::int64_t local_rank, const Attempt& attempt,
      const std::string& error_file) const override {
    auto out = Base::environment_of(local_rank, attempt, error_file);
    if (has(Planted::agent_worker_ranks_reversed)) {
      const std::int64_t last = this->group_.ranks.base_rank + this->spec_.local_world_size - 1;
      out["RANK"] = std::to_string(last - local_rank);
    }
    if (has(Planted::agent_role_rank_is_local)) out["ROLE_RANK"] = out["LOCAL_RANK"];
    if (has(Planted::agent_restart_count_untold)) out["TORCHELASTIC_RESTART_COUNT"] = "0";
    std::string& agent_store = out["TORCHELASTIC_USE_AGENT_STORE"];
    if (has(Planted::bootstrap_agent_store_never_claimed)) agent_store = "False";
    if (has(Planted::bootstrap_agent_store_always_claimed)) agent_store = "True";
    return out;
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->spec_.planted.has(mistake); }
};

}  // namespace hooke::model
