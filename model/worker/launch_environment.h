#pragma once
// How a worker was launched and what it was told, read back from its environment. The same script
// works under torchrun, under hooke, under another launcher that sets the four variables of
// `env://`, and by itself.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/port/network.h"

namespace hooke::model {

/// What only an elastic agent tells (torch/distributed/elastic/agent/server/local_elastic_agent.py:
/// _start_workers).
struct ElasticLaunch {
  std::string run_id;
  std::int64_t local_rank = 0, local_world_size = 1;
  std::int64_t group_rank = 0, group_world_size = 1;
  std::int64_t role_rank = 0, role_world_size = 1;
  std::string role_name;
  std::int64_t restart_count = 0, max_restarts = 0;
  /// The store at the master's address is the agent's and outlives the workers.
  bool use_agent_store = false;
  std::string error_file;                 ///< empty: none is wanted
  std::optional<std::string> timer_file;  ///< nullopt: no timer server
  friend bool operator==(const ElasticLaunch&, const ElasticLaunch&) = default;
};

struct LaunchEnvironment {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  sim::Endpoint master;
  std::optional<ElasticLaunch> elastic;  ///< nullopt: launched by other means
};

/// True under an elastic agent (torch.distributed.is_torchelastic_launched).
bool is_torchelastic_launched(const std::map<std::string, std::string>& environment);

/// What `env://` needs, and what an elastic agent adds. EscapedPythonError "ValueError" naming the
/// variable that is missing or is not the number that it should be.
LaunchEnvironment read_launch_environment(const std::map<std::string, std::string>& environment);

}  // namespace hooke::model
