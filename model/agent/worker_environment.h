#pragma once
// The environment contract between agent and worker (local_elastic_agent.py:_start_workers).

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "model/agent/worker_group.h"

namespace hooke::model {

/// The agent's whole environment (`given` to the process, and spec.environment) with what elastic
/// adds for one worker. Numbers are decimal, booleans are True/False. std::invalid_argument for a
/// virtual local rank beyond CUDA_VISIBLE_DEVICES.
std::map<std::string, std::string> worker_environment(
    const std::map<std::string, std::string>& given, const WorkerSpec& spec,
    const WorkerGroup& group, const RendezvousHandler& handler, std::int64_t local_rank,
    std::int64_t restart_count, const std::string& error_file);

/// Replaces ${name} and $name by their values; $$ becomes $; other placeholders stay (Python's
/// Template.safe_substitute, which api.py:macros and the prefixes of log lines are).
std::string substitute_macros(const std::string& text,
                              const std::map<std::string, std::string, std::less<>>& values);

}  // namespace hooke::model
