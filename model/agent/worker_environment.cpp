// Variables in the order of PyTorch's documentation.
#include "model/agent/worker_environment.h"

#include <string_view>

namespace hooke::model {

std::map<std::string, std::string> worker_environment(
    const std::map<std::string, std::string>& agent, const WorkerSpec& spec,
    const WorkerGroup& group, const RendezvousHandler& handler, std::int64_t local_rank,
    std::int64_t restart_count, const std::string& error_file) {
  std::map<std::string, std::string> out = agent;
  const auto put = [&out](const char* name, std::int64_t number) {
    out[name] = std::to_string(number);
  };
  put("LOCAL_RANK", local_rank);
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
  const char* const async_errors = spec.variant == Variant::torch_1_13
                                       ? "NCCL_ASYNC_ERROR_HANDLING"
                                       : "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  out.try_emplace(async_errors, "1");
  out["TORCHELASTIC_ERROR_FILE"] = error_file;
  return out;
}

std::string substitute_macros(const std::string& text, std::int64_t local_rank) {
  static constexpr std::string_view kName = "local_rank";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("$$")) {
      out += '$';
      ++i;
    } else if (rest.starts_with("${local_rank}")) {
      out += std::to_string(local_rank);
      i += kName.size() + 2;
    } else if (rest.starts_with("$local_rank") &&
               !(rest.size() > kName.size() + 1 &&
                 (std::isalnum(static_cast<unsigned char>(rest[kName.size() + 1])) != 0 ||
                  rest[kName.size() + 1] == '_'))) {
      out += std::to_string(local_rank);
      i += kName.size();
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace hooke::model
