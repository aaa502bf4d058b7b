// One record, for a person and for a program.
#include "reports/rendezvous_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace hooke::report {
namespace {

using model::JobNode;
using model::JobRecord;
using model::JobStatus;
using Json = nlohmann::ordered_json;

double seconds_of(sim::Duration span) {
  return std::chrono::duration<double>(span).count();
}

std::string age_text(const JobNode& node) {
  if (node.has_key) return *node.has_key ? "its key is there" : "its key has expired";
  if (!node.node) return "not kept";
  const std::optional<sim::Duration>& age = node.heartbeat_age;
  if (!age) return "never";
  return *age < sim::Duration::zero()
             ? fmt::format("{:.1f} s ahead of this clock", -seconds_of(*age))
             : fmt::format("{:.1f} s ago", seconds_of(*age));
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Null where the rendezvous keeps no names.
Json node_json(const JobNode& node) {
  Json out{{"addr", nullptr}, {"pid", nullptr}, {"local_id", nullptr}};
  if (node.node) {
    out = {{"addr", node.node->addr}, {"pid", node.node->pid}, {"local_id", node.node->local_id}};
  }
  out["heartbeat_age_s"] =
      node.heartbeat_age ? Json(seconds_of(*node.heartbeat_age)) : Json(nullptr);
  if (node.has_key) out["has_key"] = *node.has_key;
  return out;
}

Json workers_json(const std::optional<model::AgentWorkers>& workers) {
  if (!workers) return nullptr;
  return {{"role", workers->role}, {"first_rank", workers->first_rank}, {"count", workers->count}};
}

std::string name_of(const JobNode& node) {
  return node.node ? node.node->text() : "-";
}

/// Global ranks.
std::string ranks_text(const model::AgentWorkers& workers) {
  if (workers.count <= 0) return "none";
  const std::int64_t last = workers.first_rank + workers.count - 1;
  return workers.count == 1 ? std::to_string(last) : fmt::format("{}-{}", workers.first_rank, last);
}

/// What follows the status where there is no more to tell.
const char* end_text(JobStatus status) {
  switch (status) {
    case JobStatus::unknown: return ": the store knows no such job\n";
    case JobStatus::no_state: return ": no agent has written one yet\n";
    default: return ": the job has ended, no agent can join it any more\n";
  }
}

/// What the job waits for, if that can be seen; empty: nothing.
std::string wait_text(const JobRecord& record) {
  if (record.status == JobStatus::gathering) return "for more nodes, until there are min_nodes";
  if (record.status == JobStatus::last_call) return "for further nodes, until the last call ends";
  if (record.status != JobStatus::complete || !record.master_is_missing) return "";
  const auto first = std::find_if(record.participants.begin(), record.participants.end(),
                                  [](const JobNode& node) { return node.rank == 0; });
  if (first == record.participants.end()) return "";
  return fmt::format(
      "a node that is new in round {0} for MASTER_ADDR of round {0} from rank 0, {1}",
      *record.round, name_of(*first));
}

/// The ranks of workers have a column where any agent tells of them.
std::string node_lines(const JobRecord& record) {
  std::size_t width = 4, ranks_width = 0;
  for (const auto* list : {&record.participants, &record.wait_list, &record.redundancy_list}) {
    for (const JobNode& node : *list) {
      width = std::max(width, name_of(node).size());
      if (node.workers) {
        ranks_width = std::max({ranks_width, std::size_t{7}, ranks_text(*node.workers).size()});
      }
    }
  }
  const auto column = [&](const std::string& text) {
    return ranks_width == 0 ? "" : pad(text, ranks_width) + "  ";
  };
  std::string out =
      fmt::format("\n   rank  {}  {}heartbeat\n", pad("node", width), column("workers"));
  const auto line = [&](const std::string& rank, const JobNode& node) {
    out += fmt::format("  {:>5}  {}  {}{}\n", rank, pad(name_of(node), width),
                       column(node.workers ? ranks_text(*node.workers) : "-"), age_text(node));
  };
  for (const JobNode& node : record.participants) {
    line(node.rank ? std::to_string(*node.rank) : "-", node);
  }
  for (const JobNode& node : record.wait_list) line("waits", node);
  for (const JobNode& node : record.redundancy_list) line("spare", node);
  return out;
}

}  // namespace

std::string view_text(const std::string& endpoint, const JobRecord& record,
                      std::size_t state_bytes) {
  std::string out = fmt::format("job      {}, {} at {}\nstatus   {}", record.run_id, record.backend,
                                endpoint, to_string(record.status));
  if (!record.running()) return out + end_text(record.status);
  if (record.round) out += fmt::format(", round {}", *record.round);
  if (record.last_call_left) {
    out += fmt::format(", ends in {:.1f} s", seconds_of(*record.last_call_left));
  }
  out += '\n';
  if (record.master) {
    out += fmt::format("master   {}:{}\n", record.master->master_addr, record.master->master_port);
  }
  if (const std::string wait = wait_text(record); !wait.empty()) {
    out += fmt::format("waits    {}\n", wait);
  }
  if (record.world_size) out += fmt::format("workers  {}\n", *record.world_size);
  if (state_bytes > 0) out += fmt::format("state    {}\n", bytes_text(state_bytes));
  return out + node_lines(record);
}

std::string view_json(const std::string& endpoint, const JobRecord& record,
                      std::size_t state_bytes) {
  Json out{{"run_id", record.run_id},
           {"backend", record.backend},
           {"endpoint", endpoint},
           {"status", to_string(record.status)},
           {"running", record.running()}};
  if (record.running()) {
    out["round"] = json_of(record.round);
    out["last_call_ends_in_s"] =
        record.last_call_left ? Json(seconds_of(*record.last_call_left)) : Json(nullptr);
    out["master"] = record.master ? Json{{"addr", record.master->master_addr},
                                         {"port", record.master->master_port}}
                                  : Json(nullptr);
    out["group_world_size"] = json_of(record.group_world_size);
    out["world_size"] = json_of(record.world_size);
    out["state_bytes"] = state_bytes;
    out["participants"] = out["wait_list"] = out["redundancy_list"] = Json::array();
    for (const JobNode& each : record.participants) {
      Json node = node_json(each);
      node["rank"] = json_of(each.rank);
      node["workers"] = workers_json(each.workers);
      out["participants"].push_back(std::move(node));
    }
    for (const JobNode& node : record.wait_list) out["wait_list"].push_back(node_json(node));
    for (const JobNode& node : record.redundancy_list) {
      out["redundancy_list"].push_back(node_json(node));
    }
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hooke::report
