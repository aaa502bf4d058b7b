// The events that are decisions, with the fields that say what was decided.
#include "scenarios/guest/agent_steps.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "model/observe/trace_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;

/// An event of agents and those of its fields that both kinds of agents fill in alike.
struct Decision {
  const sim::EventType* type;
  std::array<std::string_view, 4> fields;
};

constexpr std::array kDecisions{
    Decision{&ev::rendezvous_joined, {"round", "rank", "world_size", "master_port"}},
    Decision{&ev::rendezvous_failed, {"error"}},
    Decision{&ev::group_restarting, {"cause", "remaining_restarts", "round"}},
    Decision{&ev::ranks_assigned, {"round", "group_rank", "base_rank", "world_size"}},
    Decision{&ev::worker_started, {"round", "local_rank", "rank", "restart_count"}},
    Decision{&ev::worker_signalled, {"worker_pid", "signal"}},
    Decision{&ev::worker_ended, {"worker_pid", "local_rank", "status", "stopped"}},
    Decision{&ev::failure_reported, {"rank", "worker_pid", "status"}},
    Decision{&ev::exit_barrier_left, {"round", "result"}},
    Decision{&ev::agent_signalled, {"signal"}},
    Decision{&ev::agent_finished, {"outcome", "exit_code"}},
};

std::string text_of(const sim::Event& event, const Decision& decision) {
  std::string out(decision.type->name);
  for (const std::string_view name : decision.fields) {
    if (name.empty()) continue;
    const sim::FieldValue& value = event.field(name);
    out += " " + std::string(name) + "=";
    out += value.is_text() ? std::string(value.text()) : std::to_string(value.number());
  }
  return out;
}

}  // namespace

AgentBody StepRecorder::watch(AgentBody agent) {
  return [this, agent = std::move(agent)](sim::Ports& ports, const model::LaunchConfig& config) {
    NodeSteps& steps = steps_[ports.network.host_name()];
    Watched& watched = watched_.emplace_back();
    const model::Variant variant = config.variant;
    watched.network = watched_network(
        ports.network, variant, [this, &steps, variant](const model::Request& request) {
          RequestText text = scenario::text_of(request, variant);
          steps.requests.push_back(
              {kernel_.now(), std::move(text.text), std::move(text.times), text.bytes});
        });
    watched.ports = std::make_unique<sim::Ports>(
        sim::Ports{ports.clock, ports.executor, *watched.network, ports.processes, ports.files,
                   ports.random, ports.trace, ports.fault_point});
    return agent(*watched.ports, config);
  };
}

void StepRecorder::on_event(const sim::Event& event) {
  const auto found =
      std::find_if(kDecisions.begin(), kDecisions.end(),
                   [&](const Decision& decision) { return decision.type == event.type; });
  if (found == kDecisions.end()) return;
  // What happens at one instant is told of Python's agents in the order of their log, so that its
  // order says nothing.
  std::vector<AgentStep>& steps = steps_[names_.at(event.node.value)].decisions;
  AgentStep step{event.at, text_of(event, *found), {}, 0};
  auto place = steps.end();
  while (place != steps.begin() && std::prev(place)->at == step.at &&
         std::prev(place)->text > step.text) {
    --place;
  }
  steps.insert(place, std::move(step));
}

}  // namespace hooke::scenario
