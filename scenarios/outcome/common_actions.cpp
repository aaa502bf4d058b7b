// One table of words; each names the method that carries it out.
#include "scenarios/outcome/common_actions.h"

#include <algorithm>
#include <array>

#include "scenarios/format/fixed_names.h"
#include "sim/port/check.h"

namespace hooke::scenario {

/// One entry that is being carried out.
struct CommonActions::Call {
  const TimelineEntry& entry;
  const std::vector<sim::NodeId>& nodes;
  Effect& effect;
};

struct CommonActions::Handler {
  std::string_view word;
  Method method;
};

const CommonActions::Handler* CommonActions::find(std::string_view word) {
  using A = CommonActions;
  static constexpr std::array kHandlers{
      Handler{"agent.start", &A::start_agents},
      Handler{"job.collide", &A::start_agents},
      Handler{"agent.restart", &A::restart_agents},
      Handler{"node.crash", &A::crash},
      Handler{"node.reboot", &A::crash},
      Handler{"node.restart", &A::restart_machines},
      Handler{"store.restart", &A::restart_store},
      Handler{"sched.relaunch", &A::relaunch},
  };
  const auto* const found =
      std::find_if(kHandlers.begin(), kHandlers.end(),
                   [&](const Handler& handler) { return handler.word == word; });
  return found == kHandlers.end() ? nullptr : found;
}

bool CommonActions::knows(std::string_view word) {
  return find(word) != nullptr;
}

void CommonActions::act(const TimelineEntry& entry, const std::vector<sim::NodeId>& nodes,
                        Effect& effect) {
  const Handler* const handler = find(entry.what);
  HOOKE_CHECK(handler != nullptr, "a common word is carried out");
  (this->*handler->method)({entry, nodes, effect});
}

// ---- agents -------------------------------------------------------------------------------------

/// No agent runs beside a store that has a machine of its own.
void CommonActions::start(sim::NodeId node, const std::string& run_id, Effect& effect) {
  if (machines_.is_external_store(node)) return;
  effect.felt += machines_.start_agent(node, run_id) ? 1 : 0;
}

void CommonActions::start_agents(const Call& call) {
  const std::string run_id = call.entry.text.value_or(std::string(kRunId));
  for (const sim::NodeId node : call.nodes) start(node, run_id, call.effect);
}

void CommonActions::restart_agents(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    if (roster_.agents(node).empty()) {
      start(node, std::string(kRunId), call.effect);
    } else {
      restart_when_ended_[node] = &call.effect;
    }
  }
}

void CommonActions::relaunch(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    relaunches_[node] = {*call.entry.span, *call.entry.amount, &call.effect};
  }
}

void CommonActions::last_agent_ended(sim::NodeId node, std::int64_t status) {
  if (const auto waiting = restart_when_ended_.extract(node)) {
    machines_.later(Duration::zero(), [this, node, effect = waiting.mapped()] {
      start(node, std::string(kRunId), *effect);
    });
  }
  const auto relaunch = relaunches_.find(node);
  if (relaunch == relaunches_.end() || relaunch->second.left == 0 || status == 0) return;
  --relaunch->second.left;
  machines_.later(relaunch->second.after, [this, node, effect = relaunch->second.effect] {
    if (!relaunches_.contains(node)) return;
    if (roster_.agents(node).empty()) start(node, std::string(kRunId), *effect);
  });
}

// ---- machines and the store ---------------------------------------------------------------------

void CommonActions::crash(const Call& call) {
  for (const sim::NodeId node : call.nodes) machines_.crash(node, call.effect);
  if (!call.entry.duration) return;
  for (const sim::NodeId node : call.nodes) {
    machines_.later(*call.entry.duration,
                    [this, node, effect = &call.effect] { start_machine(node, *effect); });
  }
}

void CommonActions::restart_machines(const Call& call) {
  for (const sim::NodeId node : call.nodes) start_machine(node, call.effect);
}

void CommonActions::start_machine(sim::NodeId node, Effect& effect) {
  if (left_alone_ || !machines_.boot(node, effect)) return;
  if (machines_.is_external_store(node)) {
    machines_.start_store();
  } else {
    machines_.start_agent(node, std::string(kRunId));
  }
}

void CommonActions::restart_store(const Call& call) {
  machines_.kill_store(call.effect);
  machines_.later(call.entry.duration.value_or(Duration::zero()),
                  [this] { machines_.start_store(); });
}

void CommonActions::leave_to(const std::vector<sim::NodeId>& core) {
  left_alone_ = true;
  const auto lost = [&](const auto& entry) {
    return std::find(core.begin(), core.end(), entry.first) == core.end();
  };
  std::erase_if(restart_when_ended_, lost);
  std::erase_if(relaunches_, lost);
}

}  // namespace hooke::scenario
