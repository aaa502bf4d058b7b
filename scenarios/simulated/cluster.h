#pragma once
// Builds the simulated world of a scenario: machines, network, the store's service model, and the
// programs that run on them. Agents get what torchrun's command line would give them, and nothing
// else.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/etcd/misbehaviour.h"
#include "model/launch/plugins.h"
#include "model/variant/planted.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/scenario.h"
#include "scenarios/outcome/roster.h"
#include "scenarios/simulated/worker_program.h"
#include "sim/world/world.h"

namespace hooke::scenario {

/// The network of a scenario, for the code that makes its world.
world::WorldOptions world_options(const ClusterPlan& plan, kernel::Strategy strategy);

/// What runs in the process of an agent that is started with that configuration; its exit code.
using AgentBody = std::function<int(sim::Ports&, const model::LaunchConfig&)>;

class Cluster {
 public:
  /// Adds the machines and registers the programs. `agent` empty: hooke's own, of `plugins`.
  /// `scenario`, `roster` and `plugins` must outlive the world. std::invalid_argument naming what
  /// no loader would have let through.
  Cluster(world::World& world, const Scenario& scenario, const Roster& roster,
          const model::Plugins& plugins, AgentBody agent = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// The machines that run agents, in the order of the scenario.
  [[nodiscard]] const std::vector<sim::NodeId>& nodes() const { return nodes_; }
  /// The machine that serves the rendezvous store.
  [[nodiscard]] sim::NodeId store_machine() const { return store_machine_; }
  /// True: the store is a machine of its own outside the job.
  [[nodiscard]] bool store_is_external() const;

  /// What the store does wrong, if it is an etcd; null for any other.
  [[nodiscard]] model::EtcdMisbehaviour* etcd_misbehaviour() const { return etcd_.get(); }

  /// Starts an agent of the job `run_id` on a node; false when the machine is down.
  bool start_agent(sim::NodeId node, const std::string& run_id = std::string(kRunId));
  /// Starts the external store's server, empty; false when its machine is down or it runs already.
  bool start_store();
  /// What a request costs at any store of the job.
  [[nodiscard]] world::ServiceModel store_service() const;
  /// The external store's server process, while it lives.
  [[nodiscard]] std::optional<sim::Pid> store_process() const;

  /// Workers of `node` started from now on take `span` to stop, and the living ones `workers` too.
  void stop_slowly(sim::NodeId node, std::optional<std::int64_t> local_rank, Duration span,
                   const std::vector<sim::Pid>& workers);
  /// Makes a living worker start children; returns how many came up.
  std::int64_t spawn_children(sim::NodeId node, sim::Pid worker, std::int64_t count);

  /// Until that machine goes down a probe on `node` asks the agents' health check there every
  /// `period` and calls `silent` when the answer is not "alive"; no answer is no reason. False when
  /// the machine is down already.
  bool watch_health(sim::NodeId node, Duration period, std::function<void()> silent);

  /// What launch_agent gets on that node.
  [[nodiscard]] model::LaunchConfig launch_config(sim::NodeId node,
                                                  const std::string& run_id) const;

 private:
  class Registration;
  int run_agent(sim::Ports& ports);
  int run_store(sim::Ports& ports);
  int run_worker(sim::Ports& ports);
  int run_pool(sim::Ports& ports);
  int run_probe(sim::Ports& ports);
  [[nodiscard]] model::Variant variant_of(sim::NodeId node) const;
  [[nodiscard]] WorkerConditions conditions(sim::Ports& ports, sim::NodeId node,
                                            std::int64_t local_rank);

  world::World& world_;
  const Scenario& scenario_;
  const Roster& roster_;
  const model::Plugins& plugins_;
  AgentBody agent_;
  std::vector<sim::NodeId> nodes_;
  std::map<std::string, sim::NodeId, std::less<>> by_name_;
  sim::NodeId store_machine_{};
  std::shared_ptr<model::EtcdMisbehaviour> etcd_;
  bool workers_may_stop_slowly_ = false;
  std::set<std::string> defects_;
  model::PlantedSet planted_;  ///< of those
  /// Workers started so far, by node and local rank.
  std::map<std::pair<sim::NodeId, std::int64_t>, std::int64_t> incarnations_;
  /// Set by worker.slow_stop; local rank -1: all of the node.
  std::map<std::pair<sim::NodeId, std::int64_t>, Duration> slow_stops_;
  std::map<std::pair<sim::NodeId, sim::Pid>, WorkerRun*> living_workers_;
  struct Probe {
    Duration period{};
    std::function<void()> silent;
  };
  std::map<sim::NodeId, Probe> probes_;  ///< the latest of each node
};

}  // namespace hooke::scenario
