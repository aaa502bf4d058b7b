// Keys are checked before they are read, for a get of a missing one would wait for it.
#include "model/rendezvous/round_facts.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// What an agent of that rank says of itself, since 2.x and before.
constexpr const char* kRoleInfo = "torchelastic/role_info/";
constexpr const char* kRoleInfo113 = "torchelastic/role_info";

/// No agent has more workers, and those of many agents can still be counted together.
constexpr std::uint64_t kWorkersMax = std::uint64_t{1} << 31U;

/// Puts the workers of the next agent behind those of the ones before; false when `text` means
/// nothing.
bool add_workers(const std::string& text, std::vector<AgentWorkers>& to) {
  const auto info = nlohmann::json::parse(text, nullptr, false);
  if (!info.is_object()) return false;
  const auto role = info.find("role"), count = info.find("local_world_size");
  if (role == info.end() || !role->is_string()) return false;
  if (count == info.end() || !count->is_number_unsigned()) return false;
  if (count->get<std::uint64_t>() > kWorkersMax) return false;
  const std::int64_t first = to.empty() ? 0 : to.back().first_rank + to.back().count;
  to.push_back({role->get<std::string>(), first, count->get<std::int64_t>()});
  return true;
}

std::vector<std::string> role_info_keys(const std::string& prefix, std::int64_t agents) {
  HOOKE_CHECK(agents > 0, "some agents are asked for");
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < agents; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

}  // namespace

std::optional<RendezvousStoreInfo> published_master(Store& store, const std::string& prefix) {
  if (!store.check({prefix + "MASTER_ADDR", prefix + "MASTER_PORT"})) return std::nullopt;
  RendezvousStoreInfo info;
  info.master_addr = store.get(prefix + "MASTER_ADDR").bytes();
  const std::string port = store.get(prefix + "MASTER_PORT").bytes();
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), info.master_port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return std::nullopt;
  return info;
}

std::optional<std::int64_t> published_world_size(Store& store, const std::string& prefix) {
  const std::string key = prefix + "torchelastic/assigned_ranks/0";
  if (!store.check({key})) return std::nullopt;
  const auto ranks = nlohmann::json::parse(store.get(key).bytes(), nullptr, false);
  if (!ranks.is_array() || ranks.size() != 4 || !ranks[1].is_number_integer()) return std::nullopt;
  return ranks[1].get<std::int64_t>();
}

std::vector<AgentWorkers> published_workers(Store& store, const std::string& prefix,
                                            std::int64_t agents) {
  if (agents <= 0) return {};
  std::vector<std::string> keys = role_info_keys(prefix + kRoleInfo, agents);
  if (!store.check(keys)) {
    keys = role_info_keys(prefix + kRoleInfo113, agents);
    if (!store.check(keys)) return {};
  }
  std::vector<AgentWorkers> out;
  for (const Value& value : store.multi_get(keys)) {
    if (!add_workers(value.bytes(), out)) return {};
  }
  HOOKE_CHECK(out.size() == keys.size(), "each agent that is asked for has its workers");
  return out;
}

std::vector<AgentWorkers> published_workers_of(Store& store, const std::string& prefix,
                                               std::int64_t world_size) {
  std::vector<AgentWorkers> out;
  for (std::int64_t seen = 0, rank = 0; seen < world_size; ++rank) {
    const std::string key = prefix + kRoleInfo + std::to_string(rank);
    if (!store.check({key}) || !add_workers(store.get(key).bytes(), out)) return {};
    if (out.back().count <= 0) return {};
    seen += out.back().count;
  }
  return out;
}

}  // namespace hooke::model
