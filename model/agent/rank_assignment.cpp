// Three exchanges over one computation.
#include "model/agent/rank_assignment.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/rendezvous/dynamic/decisions.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

constexpr sim::Duration kSynchronizeTimeout = std::chrono::seconds(300);

/// As Python's json.dumps writes it, keys in this order.
std::string role_info_text(const WorkerSpec& spec, std::int64_t group_rank) {
  return "{\"role\": " + json(spec.role).dump(-1, ' ', true) +
         ", \"rank\": " + std::to_string(group_rank) +
         ", \"local_world_size\": " + std::to_string(spec.local_world_size) + "}";
}

/// No agent has more workers, and sums of as many stay within 63 bits.
constexpr std::int64_t kLocalWorkersMax = std::int64_t{1} << 31;

std::int64_t number_of(const json& value) {
  const auto number = value.get<double>();
  if (std::abs(number) > double{kLocalWorkersMax}) {
    throw EscapedPythonError("OverflowError", "no number of workers: " + value.dump());
  }
  return value.get<std::int64_t>();
}

RoleInfo parse_role_info(const Value& value) {
  try {
    const json document = json::parse(value.bytes());
    return {document.at("role").get<std::string>(), number_of(document.at("local_world_size"))};
  } catch (const json::exception& error) {
    throw EscapedPythonError("JSONDecodeError", std::string("role info: ") + error.what());
  }
}

std::vector<RoleInfo> parse_all(const std::vector<Value>& values) {
  std::vector<RoleInfo> infos;
  infos.reserve(values.size());
  for (const Value& value : values) infos.push_back(parse_role_info(value));
  return infos;
}

std::string assignment_text(const RankAssignment& ranks) {
  return "[" + std::to_string(ranks.base_rank) + ", " + std::to_string(ranks.world_size) + ", " +
         std::to_string(ranks.base_role_rank) + ", " + std::to_string(ranks.role_world_size) + "]";
}

RankAssignment parse_assignment(const Value& value) {
  try {
    const json document = json::parse(value.bytes());
    if (document.size() != 4) throw EscapedPythonError("ValueError", "assigned ranks are four");
    return {number_of(document.at(0)), number_of(document.at(1)), number_of(document.at(2)),
            number_of(document.at(3))};
  } catch (const json::exception& error) {
    throw EscapedPythonError("JSONDecodeError", std::string("assigned ranks: ") + error.what());
  }
}

RankAssignment exchange_2_x(const WorkerSpec& spec, Store& store, std::int64_t group_rank,
                            std::int64_t group_world_size) {
  static const std::string kRoleInfo = "torchelastic/role_info/";
  static const std::string kAssigned = "torchelastic/assigned_ranks/";
  store.set(kRoleInfo + std::to_string(group_rank), Value(role_info_text(spec, group_rank)));
  if (group_rank == 0) {
    std::vector<std::string> keys;
    for (std::int64_t i = 0; i < group_world_size; ++i)
      keys.push_back(kRoleInfo + std::to_string(i));
    const std::vector<RankAssignment> ranks = assign_ranks(parse_all(store.multi_get(keys)));
    HOOKE_CHECK(ranks.size() == keys.size(), "there are ranks for every agent of the round");
    std::vector<std::pair<std::string, Value>> items;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      items.emplace_back(kAssigned + std::to_string(i), Value(assignment_text(ranks[i])));
    }
    store.multi_set(items);
  }
  return parse_assignment(store.get(kAssigned + std::to_string(group_rank)));
}

}  // namespace

std::vector<RankAssignment> assign_ranks(const std::vector<RoleInfo>& agents) {
  std::map<std::string, std::int64_t> role_sizes;
  std::int64_t world_size = 0;
  for (const RoleInfo& agent : agents) {
    world_size += agent.local_world_size;
    role_sizes[agent.role] += agent.local_world_size;
  }
  std::map<std::string, std::int64_t> role_next;
  HOOKE_CHECK(role_sizes.size() <= agents.size(), "there are at most as many roles as agents");
  std::vector<RankAssignment> out;
  out.reserve(agents.size());
  std::int64_t next = 0;
  for (const RoleInfo& agent : agents) {
    out.push_back({next, world_size, role_next[agent.role], role_sizes[agent.role]});
    next += agent.local_world_size;
    role_next[agent.role] += agent.local_world_size;
  }
  HOOKE_CHECK(next == world_size && role_next == role_sizes,
              "the ranks that were given add up to the world size and to each role's size");
  HOOKE_CHECK(out.size() == agents.size(), "there are ranks for every agent of the round");
  return out;
}

RankAssignment exchange_ranks(const WorkerSpec& spec, Store& store, std::int64_t group_rank,
                              std::int64_t group_world_size) {
  const std::int64_t local = spec.local_world_size;
  HOOKE_CHECK(local > 0, "the number of an agent's local workers is positive");
  HOOKE_CHECK(group_world_size >= 1, "the group world size is at least 1");
  if (!counts_in_barriers(spec.variant)) {
    const std::vector<Value> infos =
        synchronize_1_13(store, Value(role_info_text(spec, group_rank)), group_rank,
                         group_world_size, "torchelastic/role_info", kSynchronizeTimeout);
    return assign_ranks(parse_all(infos)).at(static_cast<std::size_t>(group_rank));
  }
  if (spec.worker_identical &&
      knows_identical_workers(spec.variant)) {  // no code checks that the others agree
    return {group_rank * local, group_world_size * local, group_rank * local,
            group_world_size * local};
  }
  return exchange_2_x(spec, store, group_rank, group_world_size);
}

}  // namespace hooke::model
