// Participants are shown by rank; the other lists in the order in which the store holds them.
#include "reports/rendezvous_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace hooke::report {
namespace {

using model::NodeRef;
using model::RendezvousState;

std::optional<double> heartbeat_age(const RendezvousState& state, const NodeRef& node,
                                    sim::WallTime now) {
  const model::Heartbeat* heartbeat = state.heartbeat(node);
  if (heartbeat == nullptr) return std::nullopt;
  return std::chrono::duration<double>(now - heartbeat->at).count();
}

std::vector<model::Participant> by_rank(const RendezvousState& state) {
  std::vector<model::Participant> out = state.participants;
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

std::string age_text(std::optional<double> age) {
  if (!age) return "never";
  return *age < 0 ? fmt::format("{:.1f} s ahead of this clock", -*age)
                  : fmt::format("{:.1f} s ago", *age);
}

nlohmann::ordered_json node_json(const RendezvousState& state, const NodeRef& node,
                                 sim::WallTime now) {
  nlohmann::ordered_json out{
      {"addr", node->addr}, {"pid", node->pid}, {"local_id", node->local_id}};
  const auto age = heartbeat_age(state, node, now);
  out["heartbeat_age_s"] = age ? nlohmann::ordered_json(*age) : nlohmann::ordered_json(nullptr);
  return out;
}

}  // namespace

std::string view_text(const RendezvousPlace& place, const model::RendezvousView& view,
                      sim::WallTime now) {
  std::string out = fmt::format("job      {}, {} at {}\nstatus   {}", place.run_id, place.backend,
                                place.endpoint, status_text(view));
  if (view.state == nullptr) return out + ": no agent has written one yet\n";
  const RendezvousState& state = *view.state;
  out += fmt::format(", round {}", state.round);
  if (state.deadline && !state.complete) {
    out += fmt::format(", ends in {:.1f} s",
                       std::chrono::duration<double>(*state.deadline - now).count());
  }
  out += '\n';
  if (view.master) {
    out += fmt::format("master   {}:{}\n", view.master->master_addr, view.master->master_port);
  }
  out += fmt::format("state    {}\n", bytes_text(view.state_bytes));
  std::size_t width = 4;
  for (const auto& heartbeat : state.last_heartbeats) {
    width = std::max(width, heartbeat.node->text().size());
  }
  const auto line = [&](const std::string& rank, const NodeRef& node) {
    out += fmt::format("  {:>5}  {}  {}\n", rank, pad(node->text(), width),
                       age_text(heartbeat_age(state, node, now)));
  };
  out += fmt::format("\n   rank  {}  heartbeat\n", pad("node", width));
  for (const auto& participant : by_rank(state)) {
    // Ranks are given when the round completes.
    line(state.complete ? std::to_string(participant.rank) : "-", participant.node);
  }
  for (const NodeRef& node : state.wait_list) line("waits", node);
  for (const NodeRef& node : state.redundancy_list) line("spare", node);
  return out;
}

std::string view_json(const RendezvousPlace& place, const model::RendezvousView& view,
                      sim::WallTime now) {
  using Json = nlohmann::ordered_json;
  Json out{{"run_id", place.run_id},
           {"backend", place.backend},
           {"endpoint", place.endpoint},
           {"status", status_text(view)}};
  if (view.state != nullptr) {
    const RendezvousState& state = *view.state;
    out["round"] = state.round;
    out["complete"] = state.complete;
    out["closed"] = state.closed;
    out["last_call_ends_in_s"] =
        state.deadline ? Json(std::chrono::duration<double>(*state.deadline - now).count())
                       : Json(nullptr);
    out["master"] =
        view.master ? Json{{"addr", view.master->master_addr}, {"port", view.master->master_port}}
                    : Json(nullptr);
    out["state_bytes"] = view.state_bytes;
    out["participants"] = Json::array();
    for (const auto& participant : by_rank(state)) {
      Json node = node_json(state, participant.node, now);
      node["rank"] = state.complete ? Json(participant.rank) : Json(nullptr);
      out["participants"].push_back(std::move(node));
    }
    out["wait_list"] = out["redundancy_list"] = Json::array();
    for (const NodeRef& node : state.wait_list) {
      out["wait_list"].push_back(node_json(state, node, now));
    }
    for (const NodeRef& node : state.redundancy_list) {
      out["redundancy_list"].push_back(node_json(state, node, now));
    }
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hooke::report
