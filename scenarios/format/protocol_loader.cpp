#include "scenarios/format/protocol_loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "model/variant/defects.h"
#include "scenarios/format/duration.h"
#include "scenarios/format/node_names.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kRestartsMax = 1'000'000'000;

/// The rendezvous is configured in torchrun's words, which know nothing finer than microseconds.
Duration rendezvous_span(const Place& place) {
  const Duration span = place.positive_duration();
  if (span % 1us != Duration::zero()) place.refuse_value("a whole number of microseconds");
  return span;
}

RendezvousPlan rendezvous(const Place& place, const model::Plugins& plugins) {
  place.object({"backend", "min_nodes", "max_nodes", "timeouts", "keep_alive", "read_timeout"});
  RendezvousPlan plan;
  if (place.has("backend")) {
    plan.backend = place.at("backend").text();
    std::vector<std::string> known{"c10d", "static", "file", "etcd", "etcd-v2", "etcd-v3"};
    const std::vector<std::string> built_in = model::RendezvousRegistry::with_builtins().names();
    for (const std::string& name : plugins.rendezvous.names()) {
      if (std::find(built_in.begin(), built_in.end(), name) == built_in.end())
        known.push_back(name);
    }
    if (std::find(known.begin(), known.end(), plan.backend) == known.end()) {
      place.at("backend").refuse_word("a rendezvous backend", plan.backend, known);
    }
  }
  plan.min_nodes = place.at("min_nodes").integer(1, std::int64_t{kNodesMax});
  plan.max_nodes = place.at("max_nodes").integer(1, std::int64_t{kNodesMax});
  if (plan.max_nodes < plan.min_nodes) {
    place.at("max_nodes")
        .refuse_value("at least min_nodes (" + std::to_string(plan.min_nodes) + ")");
  }
  if (place.has("timeouts")) {
    const Place timeouts = place.at("timeouts");
    timeouts.object({"join", "last_call", "close", "heartbeat"});
    if (timeouts.has("join")) plan.join = rendezvous_span(timeouts.at("join"));
    if (timeouts.has("last_call")) plan.last_call = rendezvous_span(timeouts.at("last_call"));
    if (timeouts.has("close")) plan.close = rendezvous_span(timeouts.at("close"));
    if (timeouts.has("heartbeat")) plan.heartbeat = rendezvous_span(timeouts.at("heartbeat"));
  }
  if (place.has("keep_alive")) {
    const Place keep_alive = place.at("keep_alive");
    keep_alive.object({"interval", "max_attempts"});
    if (keep_alive.has("interval"))
      plan.keep_alive_interval = rendezvous_span(keep_alive.at("interval"));
    if (keep_alive.has("max_attempts")) {
      plan.keep_alive_max_attempts = keep_alive.at("max_attempts").integer(1, 1'000'000);
    }
    if (plan.keep_alive_interval > kSpanMax / plan.keep_alive_max_attempts) {
      keep_alive.refuse_value("interval times max_attempts to be at most " +
                              duration_text(kSpanMax));
    }
  }
  if (place.has("read_timeout")) plan.read_timeout = rendezvous_span(place.at("read_timeout"));
  return plan;
}

model::HeartbeatPlan heartbeats(const Place& place) {
  place.object({"interval", "deadline", "first_beat", "policy", "peers"});
  model::HeartbeatPlan plan;
  const auto span = [&](const char* key) {
    const Duration given = place.at(key).duration();
    if (given < 1ms) place.at(key).refuse_value("a duration of at least 1ms");
    return given;
  };
  if (place.has("interval")) plan.interval = span("interval");
  if (place.has("deadline")) plan.deadline = span("deadline");
  if (plan.deadline <= plan.interval) {
    place.refuse_value("a deadline that is longer than the interval");
  }
  if (place.has("first_beat")) plan.first_beat = span("first_beat");
  if (place.has("policy")) {
    const std::string word = place.at("policy").text();
    const auto policy = model::heartbeat_policy_from(word);
    if (!policy) {
      place.at("policy").refuse_word("a policy for lost heartbeats", word,
                                     {"mark", "restart", "stop"});
    }
    plan.policy = *policy;
  }
  if (place.has("peers")) plan.peers = place.at("peers").truth();
  return plan;
}

/// An agent's plan depends on which backend its plug-ins have to work with.
class AgentLoader {
 public:
  AgentLoader(const model::Plugins& plugins, std::string backend)
      : plugins_(plugins), backend_(std::move(backend)) {}
  AgentPlan load(const Place& place) const;

 private:
  void chosen(const Place& place, const char* key, std::string& plan,
              model::PluginChoice model::LaunchConfig::*part) const;

  const model::Plugins& plugins_;
  std::string backend_;
};

/// What is chosen at `key`, if agents can be made so.
void AgentLoader::chosen(const Place& place, const char* key, std::string& plan,
                         model::PluginChoice model::LaunchConfig::*part) const {
  if (!place.has(key)) return;
  plan = place.at(key).text();
  const std::string reason = refusal_of(plan, part, backend_, plugins_);
  if (!reason.empty()) {
    place.at(key).refuse_value("what agents can be made with (" + reason + ")");
  }
}

AgentPlan AgentLoader::load(const Place& place) const {
  place.object({"max_restarts", "restart_policy", "kind", "timer", "process_launcher", "shutdown",
                "monitor_interval", "exit_barrier_timeout", "shutdown_timeout", "environment",
                "heartbeats"});
  AgentPlan plan;
  if (place.has("max_restarts"))
    plan.max_restarts = place.at("max_restarts").integer(0, kRestartsMax);
  chosen(place, "restart_policy", plan.restart_policy, &model::LaunchConfig::restart_policy);
  chosen(place, "kind", plan.kind, &model::LaunchConfig::agent);
  chosen(place, "timer", plan.timer, &model::LaunchConfig::timer);
  chosen(place, "process_launcher", plan.process_launcher, &model::LaunchConfig::process_launcher);
  chosen(place, "shutdown", plan.shutdown, &model::LaunchConfig::shutdown);
  if (place.has("monitor_interval")) {
    plan.monitor_interval = place.at("monitor_interval").duration();
    if (plan.monitor_interval < 1ms)
      place.at("monitor_interval").refuse_value("a duration of at least 1ms");
  }
  if (place.has("exit_barrier_timeout"))
    plan.exit_barrier_timeout = place.at("exit_barrier_timeout").duration();
  if (place.has("environment")) {
    for (const auto& [name, value] : place.at("environment").members()) {
      if (name.empty() || name.find('=') != std::string::npos)
        value.refuse("the name of an environment variable as key", "\"" + name + "\"");
      plan.environment[name] = value.text();
    }
  }
  if (place.has("shutdown_timeout"))
    plan.shutdown_timeout = place.at("shutdown_timeout").duration();
  if (place.has("heartbeats")) plan.heartbeats = heartbeats(place.at("heartbeats"));
  return plan;
}

}  // namespace

std::string refusal_of(const std::string& text, model::PluginChoice model::LaunchConfig::*part,
                       const std::string& backend, const model::Plugins& plugins) {
  model::LaunchConfig config;
  config.rdzv_backend = backend;
  try {
    config.*part = model::PluginChoice::parse(text);
    const auto refused = plugins.refusal(config);
    return refused ? refused->reason : "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

model::Variant load_variant(const Place& place) {
  const std::string name = place.text();
  const auto known = model::variant_from(name);
  if (!known) {
    std::string all;
    for (const std::string& each : model::variant_names()) all += (all.empty() ? "" : ", ") + each;
    place.refuse_word("a protocol variant (" + all + ")", name, model::variant_names());
  }
  return *known;
}

ProtocolPlan load_protocol(const Place& place, const model::Plugins& plugins) {
  ProtocolPlan plan;
  place.object({"variant", "defects", "rendezvous", "agent"});
  if (place.has("variant")) plan.variant = load_variant(place.at("variant"));
  if (place.has("defects")) {
    const std::vector<std::string_view> names = model::defect_names();
    const std::vector<std::string> known(names.begin(), names.end());
    for (const Place& item : place.at("defects").items()) {
      const std::string name = item.text();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        item.refuse_word("a known defect", name, known);
      }
      plan.defects.push_back(name);
    }
  }
  plan.rendezvous = rendezvous(place.at("rendezvous"), plugins);
  if (place.has("agent")) {
    plan.agent = AgentLoader(plugins, plan.rendezvous.backend).load(place.at("agent"));
  }
  return plan;
}

}  // namespace hooke::scenario
