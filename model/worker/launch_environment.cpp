// One reader for both: env:// first, then the elastic part.
#include "model/worker/launch_environment.h"

#include <charconv>

#include "model/observe/python_error.h"

namespace hooke::model {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kRunId = "TORCHELASTIC_RUN_ID";

const std::string& text(const Variables& environment, const char* name) {
  const auto found = environment.find(name);
  if (found != environment.end()) return found->second;
  throw EscapedPythonError("ValueError", std::string("env:// rendezvous: ") + name + " is not set");
}

std::int64_t number(const Variables& environment, const char* name, std::int64_t least) {
  const std::string& given = text(environment, name);
  std::int64_t value = 0;
  const auto end = std::from_chars(given.data(), given.data() + given.size(), value);
  if (given.empty() || end.ec != std::errc() || end.ptr != given.data() + given.size() ||
      value < least) {
    throw EscapedPythonError("ValueError", std::string("env:// rendezvous: ") + name + " is \"" +
                                               given + "\", not a number from " +
                                               std::to_string(least) + " on");
  }
  return value;
}

/// A rank and the size that it must be below.
void read_pair(const Variables& environment, const char* rank_name, const char* size_name,
               std::int64_t& rank, std::int64_t& size) {
  rank = number(environment, rank_name, 0);
  size = number(environment, size_name, 1);
  if (rank < size) return;
  throw EscapedPythonError("ValueError", std::string("env:// rendezvous: ") + rank_name + " is " +
                                             std::to_string(rank) + ", but " + size_name + " is " +
                                             std::to_string(size));
}

ElasticLaunch read_elastic(const Variables& environment) {
  ElasticLaunch out;
  out.run_id = text(environment, kRunId);
  read_pair(environment, "LOCAL_RANK", "LOCAL_WORLD_SIZE", out.local_rank, out.local_world_size);
  read_pair(environment, "GROUP_RANK", "GROUP_WORLD_SIZE", out.group_rank, out.group_world_size);
  read_pair(environment, "ROLE_RANK", "ROLE_WORLD_SIZE", out.role_rank, out.role_world_size);
  out.role_name = text(environment, "ROLE_NAME");
  out.restart_count = number(environment, "TORCHELASTIC_RESTART_COUNT", 0);
  out.max_restarts = number(environment, "TORCHELASTIC_MAX_RESTARTS", 0);
  out.use_agent_store = text(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  out.error_file = text(environment, "TORCHELASTIC_ERROR_FILE");
  const auto timer_file = environment.find("TORCHELASTIC_TIMER_FILE");
  if (timer_file != environment.end()) out.timer_file = timer_file->second;
  return out;
}

}  // namespace

bool is_torchelastic_launched(const Variables& environment) {
  return environment.contains(kRunId);
}

LaunchEnvironment read_launch_environment(const Variables& environment) {
  LaunchEnvironment out;
  read_pair(environment, "RANK", "WORLD_SIZE", out.rank, out.world_size);
  constexpr std::int64_t kPortMax = 65'535;
  const std::int64_t port = number(environment, "MASTER_PORT", 0);
  if (port > kPortMax) {
    throw EscapedPythonError(
        "ValueError", "env:// rendezvous: MASTER_PORT is " + std::to_string(port) + ", not a port");
  }
  out.master = {text(environment, "MASTER_ADDR"),
                sim::PortNumber{static_cast<std::uint16_t>(port)}};
  if (is_torchelastic_launched(environment)) out.elastic = read_elastic(environment);
  return out;
}

}  // namespace hooke::model
