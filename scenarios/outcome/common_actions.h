#pragma once
// The words that do the same in the simulated and in the real world, once what they need of either
// is told apart: agents, machines and the store start, end and start again.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/effect.h"
#include "scenarios/outcome/roster.h"

namespace hooke::scenario {

/// A cluster as the common words see it.
class Machines {
 public:
  virtual ~Machines() = default;
  /// False when the machine is down.
  virtual bool start_agent(sim::NodeId node, const std::string& run_id) = 0;
  /// All on the machine is gone at once.
  virtual void crash(sim::NodeId node, Effect& effect) = 0;
  /// The machine is up; false if it was.
  virtual bool boot(sim::NodeId node, Effect& effect) = 0;
  /// The process of the external store, if it lives, is killed.
  virtual void kill_store(Effect& effect) = 0;
  /// An external store starts, empty.
  virtual void start_store() = 0;
  /// The machine serves the store and runs no agent.
  [[nodiscard]] virtual bool is_external_store(sim::NodeId node) const = 0;
  /// Does that `after` from now.
  virtual void later(Duration after, std::function<void()> action) = 0;
};

class CommonActions {
 public:
  /// Both must outlive this.
  CommonActions(Machines& machines, const Roster& roster) : machines_(machines), roster_(roster) {}

  /// The word is one of these.
  [[nodiscard]] static bool knows(std::string_view word);
  /// Carries the entry out on these nodes. It has its usual parameters, its word is one of these,
  /// and `effect` outlives this: what an entry sets off may be felt later.
  void act(const TimelineEntry& entry, const std::vector<sim::NodeId>& nodes, Effect& effect);
  /// The last agent of the node has ended: agents that wait for that start, and those that a
  /// scheduler starts again when they fail.
  void last_agent_ended(sim::NodeId node, std::int64_t status);
  /// Only the nodes of `core` are sound from now on: what was set off before happens to no other
  /// node any more, and no machine starts again.
  void leave_to(const std::vector<sim::NodeId>& core);

 private:
  struct Call;
  using Method = void (CommonActions::*)(const Call&);
  struct Handler;
  static const Handler* find(std::string_view word);

  void start_agents(const Call& call);
  void restart_agents(const Call& call);
  void crash(const Call& call);
  void restart_machines(const Call& call);
  void restart_store(const Call& call);
  void relaunch(const Call& call);
  void start(sim::NodeId node, const std::string& run_id, Effect& effect);
  void start_machine(sim::NodeId node, Effect& effect);

  struct Relaunch {
    Duration after{};
    std::int64_t left = 0;
    Effect* effect = nullptr;
  };

  Machines& machines_;
  const Roster& roster_;
  std::map<sim::NodeId, Effect*> restart_when_ended_;
  std::map<sim::NodeId, Relaunch> relaunches_;
  bool left_alone_ = false;
};

}  // namespace hooke::scenario
