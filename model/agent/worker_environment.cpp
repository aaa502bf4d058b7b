// Variables in the order of PyTorch's documentation.
#include "model/agent/worker_environment.h"

#include <cctype>
#include <stdexcept>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// The entry of a comma list with that number, without blanks around it.
std::string device_of(const std::string& devices, std::int64_t local_rank) {
  std::size_t begin = 0;
  for (std::int64_t i = 0; i < local_rank; ++i) {
    begin = devices.find(',', begin);
    if (begin++ == std::string::npos) {
      throw std::invalid_argument("local rank " + std::to_string(local_rank) +
                                  " is beyond CUDA_VISIBLE_DEVICES \"" + devices + "\"");
    }
  }
  const std::string entry = devices.substr(begin, devices.find(',', begin) - begin);
  HOOKE_CHECK(entry.find(',') == std::string::npos, "an entry of a list has no comma");
  const std::size_t first = entry.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return entry.substr(first, entry.find_last_not_of(" \t") - first + 1);
}

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::map<std::string, std::string> worker_environment(
    const std::map<std::string, std::string>& given, const WorkerSpec& spec,
    const WorkerGroup& group, const RendezvousHandler& handler, std::int64_t local_rank,
    std::int64_t restart_count, const std::string& error_file) {
  HOOKE_CHECK(0 <= local_rank && local_rank < spec.local_world_size, "local_rank is in range");
  HOOKE_CHECK(restart_count >= 0, "the restart count is not negative");
  std::map<std::string, std::string> out = given;
  for (const auto& [name, value] : spec.environment) out[name] = value;
  const auto put = [&out](const char* name, std::int64_t number) {
    out[name] = std::to_string(number);
  };
  put("LOCAL_RANK", spec.virtual_local_rank ? 0 : local_rank);
  put("RANK", group.ranks.base_rank + local_rank);
  put("GROUP_RANK", group.group_rank);
  put("ROLE_RANK", group.ranks.base_role_rank + local_rank);
  out["ROLE_NAME"] = spec.role;
  put("LOCAL_WORLD_SIZE", spec.local_world_size);
  put("WORLD_SIZE", group.ranks.world_size);
  put("GROUP_WORLD_SIZE", group.group_world_size);
  put("ROLE_WORLD_SIZE", group.ranks.role_world_size);
  out["MASTER_ADDR"] = group.master.master_addr;
  put("MASTER_PORT", group.master.master_port);
  put("TORCHELASTIC_RESTART_COUNT", restart_count);
  put("TORCHELASTIC_MAX_RESTARTS", spec.max_restarts);
  out["TORCHELASTIC_RUN_ID"] = handler.get_run_id();
  out["TORCHELASTIC_USE_AGENT_STORE"] = handler.use_agent_store() ? "True" : "False";
  const char* const async_errors = names_async_errors_after_torch(spec.variant)
                                       ? "TORCH_NCCL_ASYNC_ERROR_HANDLING"
                                       : "NCCL_ASYNC_ERROR_HANDLING";
  out.try_emplace(async_errors, "1");
  HOOKE_CHECK(spec.max_restarts >= 0, "max_restarts in a worker's environment is not negative");
  if (spec.virtual_local_rank) {
    const auto devices = out.find("CUDA_VISIBLE_DEVICES");
    out["CUDA_VISIBLE_DEVICES"] =
        devices == out.end() ? std::to_string(local_rank) : device_of(devices->second, local_rank);
  }
  out["TORCHELASTIC_ERROR_FILE"] = error_file;
  return out;
}

std::string substitute_macros(const std::string& text,
                              const std::map<std::string, std::string, std::less<>>& values) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("$$")) {
      out += '$';
      ++i;
      continue;
    }
    const bool braced = rest.starts_with("${");
    const std::size_t begin = braced ? 2 : 1;
    std::size_t end = begin;
    while (end < rest.size() && is_of_a_name(rest[end])) ++end;
    const bool closed = !braced || (end < rest.size() && rest[end] == '}');
    const auto value =
        rest.front() == '$' && closed ? values.find(rest.substr(begin, end - begin)) : values.end();
    if (value == values.end()) {
      out += text[i];
    } else {
      HOOKE_CHECK(begin < end && i + end + (braced ? 1 : 0) <= text.size(),
                  "a placeholder has a name, and lies within its text");
      out += value->second;
      i += end - (braced ? 0 : 1);
    }
  }
  return out;
}

}  // namespace hooke::model
