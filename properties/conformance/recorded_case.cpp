// Reading first, then writing.
#include "properties/conformance/recorded_case.h"

#include <algorithm>
#include <cmath>

#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/state/state_codec.h"

namespace hooke::model {

Duration micros(const json& seconds) {
  return std::chrono::microseconds(std::llround(seconds.get<double>() * 1e6));
}

NodeRef node_of(const json& in) {
  return NodeRef(NodeDesc{in.at("addr"), in.at("pid"), in.at("local_id")});
}

RendezvousState state_of(const json& in) {
  RendezvousState out;
  out.round = in.at("round");
  out.complete = in.at("complete");
  if (!in.at("deadline").is_null()) out.deadline = kWallNow + micros(in.at("deadline"));
  out.closed = in.at("closed");
  for (const json& entry : in.at("participants"))
    out.participants.push_back({node_of(entry), entry.at("rank")});
  for (const json& entry : in.at("wait_list")) out.wait_list.push_back(node_of(entry));
  if (in.contains("redundancy_list")) {
    for (const json& entry : in.at("redundancy_list"))
      out.redundancy_list.push_back(node_of(entry));
  }
  for (const json& entry : in.at("last_heartbeats")) {
    out.last_heartbeats.push_back({node_of(entry), kWallNow + micros(entry.at("time"))});
  }
  return out;
}

std::string text_of(const RendezvousState& state) {
  const auto lines = [](auto list, auto node, auto value) {
    std::sort(list.begin(), list.end(),
              [&](const auto& a, const auto& b) { return *node(a) < *node(b); });
    std::string out;
    for (const auto& entry : list) out += " " + node(entry)->text() + "=" + value(entry);
    return out;
  };
  const auto self = [](const NodeRef& node) { return node; };
  const auto nothing = [](const NodeRef&) { return std::string(); };
  const auto time = [](sim::WallTime at) {
    return std::to_string((at - kWallNow).count() / 1000) + "us";
  };
  return "round " + std::to_string(state.round) + " complete " + std::to_string(state.complete) +
         " closed " + std::to_string(state.closed) + " deadline " +
         (state.deadline ? time(*state.deadline) : "none") + " P" +
         lines(
             state.participants.entries(), [](const Participant& p) { return p.node; },
             [](const Participant& p) { return std::to_string(p.rank); }) +
         " W" + lines(state.wait_list.entries(), self, nothing) + " X" +
         lines(state.redundancy_list.entries(), self, nothing) + " HB" +
         lines(
             state.last_heartbeats.entries(), [](const Heartbeat& h) { return h.node; },
             [&](const Heartbeat& h) { return time(h.at); });
}

RendezvousSettings settings_of(const json& in, Variant variant) {
  RendezvousSettings out;
  out.run_id = "conformance";
  out.min_nodes = in.at("min_nodes");
  out.max_nodes = in.at("max_nodes");
  out.timeout = {micros(in.at("join")), micros(in.at("last_call")), micros(in.at("close")),
                 micros(in.at("heartbeat"))};
  out.keep_alive_interval = micros(in.at("keep_alive_interval"));
  out.keep_alive_max_attempt = in.at("keep_alive_max_attempt");
  out.variant = variant;
  return out;
}

Action action_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Action::finish); ++i) {
    if (to_string(static_cast<Action>(i)) == name) return static_cast<Action>(i);
  }
  throw std::invalid_argument("unknown action " + name);
}

Operation operation_named(const std::string& name) {
  if (name == "join") return &Decisions::join;
  if (name == "exit") return &Decisions::exit;
  if (name == "close") return &Decisions::close;
  if (name == "keep_alive") return &Decisions::keep_alive;
  throw std::invalid_argument("unknown operation " + name);
}

std::string token_text(const std::optional<Token>& token) {
  return token && !token->empty() ? token->bytes() : "null";
}
std::string token_text(const json& token) {
  return token.is_null() ? "null" : std::to_string(token.get<std::int64_t>());
}
std::string flag_text(std::optional<bool> flag) {
  return !flag ? "null" : *flag ? "true" : "false";
}

std::string dead_text(const std::vector<DeadNode>& dead) {
  std::vector<NodeRef> nodes;
  for (const DeadNode& entry : dead) nodes.push_back(entry.node);
  std::sort(nodes.begin(), nodes.end(), [](const NodeRef& a, const NodeRef& b) { return *a < *b; });
  std::string out;
  for (const NodeRef& node : nodes) out += node->text() + " ";
  return out;
}
std::string dead_text(const json& dead) {
  std::string out;
  for (const json& entry : dead) out += node_of(entry)->text() + " ";
  return out;
}

}  // namespace hooke::model
