#pragma once
// The words of a scenario's timeline ("node.crash", "worker.exit") carried out. Roles and
// workers are resolved at the moment of acting. What is left to the world (links, clocks, signals)
// becomes a world::Fault; starting things again is done here.
//
// vocabulary.h says which parameters a word has. `node` is `from`; when it is empty, the node where
// the entry's trigger fired is meant.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/outcome/common_actions.h"
#include "scenarios/outcome/effect.h"
#include "scenarios/outcome/node_resolver.h"
#include "scenarios/outcome/roster.h"
#include "scenarios/simulated/agenda.h"
#include "scenarios/simulated/cluster.h"
#include "sim/world/world.h"

namespace hooke::scenario {

class Actions final : public kernel::TraceSink, private Machines {
 public:
  Actions(world::World& world, Cluster& cluster, const Roster& roster, Agenda& agenda);

  /// std::invalid_argument when the word is unknown, unsupported in this world, lacks a parameter,
  /// or names a node that does not exist.
  void check(const TimelineEntry& entry) const;
  /// Acts now. `there`: the node where the trigger fired, if it did on one. `effect` must outlive
  /// the run: what an entry sets off may be felt later.
  void act(const TimelineEntry& entry, std::optional<sim::NodeId> there, Effect& effect);
  /// Only the nodes of `core` are sound from now on: what was set off before and has not happened
  /// yet happens to none any more, except that an agent there is started again where a scheduler
  /// was to do so. A store that misbehaves does so no longer.
  void leave_to(const std::vector<sim::NodeId>& core);
  /// Sees agents end, for actions that wait for it. Must see each event before the roster does.
  void on_event(const sim::Event& event) override;

 private:
  struct Call;
  using Method = void (Actions::*)(const Call&);
  struct Handler;
  static const Handler* find_own(std::string_view word);
  [[nodiscard]] static bool can_be_done(const Word& word);

  // Machines
  bool start_agent(sim::NodeId node, const std::string& run_id) override;
  void crash(sim::NodeId node, Effect& effect) override;
  bool boot(sim::NodeId node, Effect& effect) override;
  void kill_store(Effect& effect) override;
  void start_store() override;
  [[nodiscard]] bool is_external_store(sim::NodeId node) const override;
  void later(Duration after, std::function<void()> action) override;

  // Where one fault of the world is all that a word does: one per target.
  void inject_at_nodes(const Call& call);
  void inject_at_agents(const Call& call);
  void inject_at_workers(const Call& call);
  void inject_on_paths(const Call& call);
  void inject_at_store(const Call& call);
  void begin_etcd_mode(const Call& call);
  void inject(world::Fault fault, Effect& effect);

  // Words with code of their own.
  void worker_slow_stop(const Call& call);
  void worker_children(const Call& call);
  void store_backlog(const Call& call);
  void lease_expire(const Call& call);
  void dns_unresolvable(const Call& call);
  void sched_health_kill(const Call& call);

  /// A misbehaviour of etcd that goes on.
  struct Misbehaving {
    model::EtcdMisbehaviour::Mode mode{};
    std::string kind;
  };
  std::int64_t announce(const std::string& kind, Duration lasts);
  void end_misbehaviour(std::int64_t fault);

  world::World& world_;
  Cluster& cluster_;
  const Roster& roster_;
  Agenda& agenda_;
  NodeResolver names_;
  CommonActions common_;
  std::int64_t announced_ = 0;  ///< faults with numbers of their own, below zero
  std::map<std::int64_t, Misbehaving> misbehaving_;  ///< by those
  bool left_alone_ = false;
};

}  // namespace hooke::scenario
