// Machines, programs, and the words of torchrun's configuration.
#include "scenarios/simulated/cluster.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "model/etcd/v2_server.h"
#include "model/etcd/v3_server.h"
#include "model/http/http_client.h"
#include "model/observe/trace_events.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/variant/defects.h"
#include "model/worker/worker_pool.h"
#include "scenarios/simulated/worker_child.h"
#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

/// A span as torchrun's rdzv_conf would carry it: a whole number with the largest unit that fits,
/// nothing finer than microseconds.
std::string text_of(Duration span) {
  if (span % 1s == Duration::zero()) return std::to_string(span / 1s) + "s";
  if (span % 1ms == Duration::zero()) return std::to_string(span / 1ms) + "ms";
  return std::to_string(span / 1us) + "us";
}

bool is_etcd(const std::string& backend) {
  return backend.starts_with("etcd");
}

std::map<std::string, std::string> rendezvous_configuration(const RendezvousPlan& plan) {
  return {
      {"join_timeout", text_of(plan.join)},
      {"last_call_timeout", text_of(plan.last_call)},
      {"close_timeout", text_of(plan.close)},
      {"heartbeat_timeout", text_of(plan.heartbeat)},
      {"keep_alive_interval", text_of(plan.keep_alive_interval)},
      {"keep_alive_max_attempt", std::to_string(plan.keep_alive_max_attempts)},
      {"read_timeout", text_of(plan.read_timeout)},
      // The static backend's is LaunchConfig's usual one; to the legacy etcd it is the join
      // time-out.
      {"timeout", plan.backend == "etcd" ? text_of(plan.join) : "900"},
  };
}

}  // namespace

world::WorldOptions world_options(const ClusterPlan& plan, kernel::Strategy strategy) {
  world::WorldOptions options;
  options.network.holds = strategy == kernel::Strategy::holds;
  options.network.latency = {plan.latency_median, plan.latency_p99};
  options.network.bandwidth_bits_per_s = plan.bandwidth_bits_per_s;
  return options;
}

Cluster::Cluster(world::World& world, const Scenario& scenario, const Roster& roster,
                 const model::Plugins& plugins, AgentBody agent)
    : world_(world),
      scenario_(scenario),
      roster_(roster),
      plugins_(plugins),
      agent_(std::move(agent)) {
  if (scenario.cluster.nodes.empty()) throw std::invalid_argument("cluster.nodes: is empty");
  const std::vector<std::string_view> known = model::defect_names();
  for (const std::string& defect : scenario.protocol.defects) {
    if (std::find(known.begin(), known.end(), defect) == known.end())
      throw std::invalid_argument("protocol.defects: unknown defect \"" + defect + "\"");
    defects_.insert(defect);
  }
  planted_ = model::planted_among(defects_);
  workers_may_stop_slowly_ =
      scenario.workers.slow_stop > Duration::zero() ||
      std::any_of(scenario.timeline.begin(), scenario.timeline.end(),
                  [](const TimelineEntry& entry) { return entry.what == "worker.slow_stop"; });

  const auto add = [&](const std::string& name, Duration skew, std::int64_t drift_ppm) {
    if (by_name_.contains(name)) throw std::invalid_argument("cluster: two machines named " + name);
    const sim::NodeId node = world.add_node({name, skew, drift_ppm * 1000});
    by_name_.emplace(name, node);
    return node;
  };
  for (const NodePlan& node : scenario.cluster.nodes) {
    nodes_.push_back(add(node.id, node.clock_skew, node.clock_drift_ppm));
  }
  if (store_is_external()) {
    store_machine_ = add(std::string(kStoreMachine), Duration::zero(), 0);
  } else if (!by_name_.contains(scenario.cluster.store_host)) {
    throw std::invalid_argument("cluster.store_host: no node \"" + scenario.cluster.store_host +
                                "\"");
  } else {
    store_machine_ = by_name_.at(scenario.cluster.store_host);
  }
  HOOKE_CHECK(nodes_.size() == scenario.cluster.nodes.size(), "each node of the plan is a machine");

  if (is_etcd(scenario.protocol.rendezvous.backend)) {
    etcd_ = std::make_shared<model::EtcdMisbehaviour>();
  }

  // Every store of a job is the same server program: the rendezvous store and those of the workers.
  world.set_default_service(store_service());

  world.register_program(std::string(kAgentProgram),
                         [this](sim::Ports& ports) { return run_agent(ports); });
  world.register_program(std::string(kWorkerProgram),
                         [this](sim::Ports& ports) { return run_worker(ports); });
  world.register_program(std::string(kPoolProgram),
                         [this](sim::Ports& ports) { return run_pool(ports); });
  world.register_program(std::string(kProbeProgram),
                         [this](sim::Ports& ports) { return run_probe(ports); });
  world.register_program(std::string(kWorkerChildProgram), &run_worker_child);
  world.register_program(std::string(kStoreProgram),
                         [this](sim::Ports& ports) { return run_store(ports); });
}

Cluster::~Cluster() = default;

bool Cluster::store_is_external() const {
  return scenario_.cluster.store_host.empty();
}

world::ServiceModel Cluster::store_service() const {
  world::ServiceModel service;
  service.per_request = scenario_.cluster.service_time;
  service.per_byte = scenario_.cluster.service_time_per_byte;
  service.backlog = static_cast<std::size_t>(scenario_.cluster.backlog);
  return service;
}

model::Variant Cluster::variant_of(sim::NodeId node) const {
  // The timeline may start an agent on the machine of an external store, too.
  if (node.value >= scenario_.cluster.nodes.size()) return scenario_.protocol.variant;
  return scenario_.variant_of(scenario_.cluster.nodes[node.value]);
}

// ---- agents and the store -----------------------------------------------------------------------

model::LaunchConfig Cluster::launch_config(sim::NodeId node, const std::string& run_id) const {
  const RendezvousPlan& plan = scenario_.protocol.rendezvous;
  const AgentPlan& agent = scenario_.protocol.agent;
  model::LaunchConfig config;
  config.min_nodes = plan.min_nodes;
  config.max_nodes = plan.max_nodes;
  config.nproc_per_node = scenario_.workers.per_node;
  config.run_id = run_id;
  config.rdzv_backend = plan.backend;
  const std::string& store_name = scenario_.cluster.store_name;
  config.rdzv_endpoint = (store_name.empty() ? world_.node_name(store_machine_) : store_name) +
                         ":" + std::to_string(kStorePort.value);
  config.rdzv_configs = rendezvous_configuration(plan);
  if (plan.backend == "file") {
    config.rdzv_backend = "c10d";
    config.rdzv_endpoint = "/rendezvous";
    config.rdzv_configs["store_type"] = "file";
  } else if (store_is_external()) {
    config.rdzv_configs["is_host"] = "0";
  }
  if (plan.backend == "static") {
    // The machines of the job are the world's first, in the scenario's order.
    config.rdzv_configs["rank"] = std::to_string(node.value);
  }
  config.max_restarts = agent.max_restarts;
  config.restart_policy = model::PluginChoice::parse(agent.restart_policy);
  config.agent = model::PluginChoice::parse(agent.kind);
  config.timer = model::PluginChoice::parse(agent.timer);
  config.process_launcher = model::PluginChoice::parse(agent.process_launcher);
  config.shutdown = model::PluginChoice::parse(agent.shutdown);
  config.monitor_interval = agent.monitor_interval;
  config.exit_barrier_timeout = agent.exit_barrier_timeout;
  config.shutdown_timeout = agent.shutdown_timeout;
  config.heartbeats = agent.heartbeats;
  config.command = {std::string(kWorkerProgram)};
  if (node.value < scenario_.cluster.nodes.size()) {
    config.local_addr = scenario_.cluster.nodes[node.value].local_addr;
  }
  config.variant = variant_of(node);
  config.defects = defects_;
  return config;
}

/// One that finds its port taken, because the node's pool runs already, ends at once.
int Cluster::run_pool(sim::Ports& ports) {
  HOOKE_CHECK(scenario_.cluster.pool_slots && *scenario_.cluster.pool_slots > 0,
              "a pool that is started has slots");
  try {
    model::WorkerPool(ports, sim::PortNumber{model::kWorkerPoolPort}, *scenario_.cluster.pool_slots)
        .run();
  } catch (const std::runtime_error&) {
    return 1;
  }
  return 0;
}

bool Cluster::watch_health(sim::NodeId node, Duration period, std::function<void()> silent) {
  HOOKE_CHECK(period > Duration::zero() && silent != nullptr,
              "a probe looks now and then, and tells what it finds");
  probes_[node] = {period, std::move(silent)};
  sim::SpawnRequest request;
  request.argv = {std::string(kProbeProgram)};
  request.environment = scenario_.protocol.agent.environment;
  return world_.start(node, std::move(request)).ok();
}

int Cluster::run_probe(sim::Ports& ports) {
  constexpr Duration kTimeout = 5s;
  HOOKE_CHECK(by_name_.contains(ports.network.host_name()),
              "a program runs on a machine of the cluster");
  const Probe& probe = probes_.at(by_name_.find(ports.network.host_name())->second);
  const auto& environment = ports.processes.environment();
  const auto variable = environment.find("TORCHELASTIC_HEALTH_CHECK_PORT");
  std::uint16_t port = 0;
  if (variable != environment.end()) {
    const std::string& text = variable->second;
    std::from_chars(text.data(), text.data() + text.size(), port);
  }
  if (port == 0) return 0;  // there is no check to be asked
  for (;;) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + probe.period);
    try {
      model::HttpClient client(ports, {{"localhost", sim::PortNumber{port}}, {}});
      const auto answer =
          client.exchange({"GET", "/", "", "", ""}, ports.clock.monotonic_now() + kTimeout);
      if (answer.status != 200) probe.silent();
    } catch (const model::HttpError&) {
      // Nothing serves it: before the workers start, and after they have been stopped.
    }
  }
}

bool Cluster::start_agent(sim::NodeId node, const std::string& run_id) {
  if (scenario_.cluster.pool_slots) {
    sim::SpawnRequest pool;
    pool.argv = {std::string(kPoolProgram)};
    static_cast<void>(world_.start(node, std::move(pool)));
  }
  sim::SpawnRequest request;
  request.argv = {std::string(kAgentProgram), run_id};
  request.environment = scenario_.protocol.agent.environment;
  return world_.start(node, std::move(request)).ok();
}

int Cluster::run_agent(sim::Ports& ports) {
  HOOKE_CHECK(by_name_.contains(ports.network.host_name()),
              "a program runs on a machine of the cluster");
  HOOKE_CHECK(ports.processes.arguments().size() == 2, "an agent is told which job it has");
  const sim::NodeId node = by_name_.find(ports.network.host_name())->second;
  const model::LaunchConfig config = launch_config(node, ports.processes.arguments().at(1));
  return agent_ ? agent_(ports, config) : model::launch_agent(ports, plugins_, config);
}

std::optional<sim::Pid> Cluster::store_process() const {
  if (!store_is_external()) return std::nullopt;
  const std::vector<sim::Pid> living = world_.living(store_machine_);
  return living.empty() ? std::nullopt : std::optional(living.front());
}

bool Cluster::start_store() {
  if (!store_is_external() || store_process()) return false;
  sim::SpawnRequest request;
  request.argv = {std::string(kStoreProgram)};
  return world_.start(store_machine_, std::move(request)).ok();
}

int Cluster::run_store(sim::Ports& ports) {
  std::unique_ptr<model::TcpStoreServer> store;
  std::unique_ptr<model::EtcdV2Server> v2;
  std::unique_ptr<model::EtcdV3Server> v3;
  try {
    if (etcd_ == nullptr) {
      store = model::serve_tcp_store(ports, kStorePort, "rendezvous", planted_);
    } else if (scenario_.protocol.rendezvous.backend == "etcd-v3") {
      v3 = std::make_unique<model::EtcdV3Server>(ports, kStorePort, etcd_);
    } else {
      v2 = std::make_unique<model::EtcdV2Server>(ports, kStorePort, etcd_);
    }
  } catch (const std::runtime_error&) {
    return 1;  // as any server whose port somebody else holds
  }
  if (etcd_ != nullptr) {
    ports.trace.emit(model::events::store_serving, {std::uint32_t{kStorePort.value}, "rendezvous"});
  }
  for (;;) static_cast<void>(ports.executor.park(ports.executor.ticket()));
}

// ---- workers ------------------------------------------------------------------------------------

/// Keeps a worker reachable for the timeline while it lives.
class Cluster::Registration {
 public:
  Registration(Cluster& cluster, sim::NodeId node, sim::Pid pid, WorkerRun& run)
      : cluster_(cluster), key_(node, pid) {
    HOOKE_CHECK(!cluster_.living_workers_.contains(key_), "a worker is one process of its node");
    cluster_.living_workers_[key_] = &run;
  }
  ~Registration() {
    const std::size_t erased = cluster_.living_workers_.erase(key_);
    HOOKE_CHECK(erased == 1, "a worker is known until its end");
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  Cluster& cluster_;
  std::pair<sim::NodeId, sim::Pid> key_;
};

int Cluster::run_worker(sim::Ports& ports) {
  HOOKE_CHECK(by_name_.contains(ports.network.host_name()),
              "a program runs on a machine of the cluster");
  const sim::NodeId node = by_name_.find(ports.network.host_name())->second;
  const auto& environment = ports.processes.environment();
  const auto variable = environment.find("LOCAL_RANK");
  std::int64_t local_rank = 0;
  if (variable != environment.end()) {
    const std::string& text = variable->second;
    std::from_chars(text.data(), text.data() + text.size(), local_rank);
  }
  WorkerRun run(ports, conditions(ports, node, local_rank));
  const Registration registration(*this, node, ports.processes.self(), run);
  return run.run();
}

WorkerConditions Cluster::conditions(sim::Ports& ports, sim::NodeId node, std::int64_t local_rank) {
  WorkerConditions conditions;
  conditions.program = program_of(scenario_.workers, world_.node_name(node), local_rank,
                                  incarnations_[{node, local_rank}]++);
  conditions.peer_abort = scenario_.workers.peer_abort;
  conditions.slow_stop = scenario_.workers.slow_stop;
  for (const std::int64_t whose : {std::int64_t{-1}, local_rank}) {
    const auto slowed = slow_stops_.find({node, whose});
    if (slowed != slow_stops_.end()) conditions.slow_stop = slowed->second;
  }
  conditions.may_stop_slowly = workers_may_stop_slowly_;
  conditions.restart_count_prefix = defects_.contains("worker_store.restart_count_prefix");
  conditions.planted = planted_;
  conditions.variant = variant_of(node);
  conditions.timers =
      plugins_.timers.create(model::PluginChoice::parse(scenario_.protocol.agent.timer));
  conditions.round = [this, node, pid = ports.processes.self()] {
    return roster_.round_of(node, pid);
  };
  conditions.trace_store = scenario_.workers.trace_store;
  conditions.newest_round = [this](const std::string& run_id) {
    return roster_.newest_round(run_id);
  };
  // Only a worker that looks at its job needs to know where that is: there may be very many others.
  const auto looks = [](const WorkerStep& step) { return step.kind == WorkerStep::Kind::job; };
  if (std::any_of(conditions.program.begin(), conditions.program.end(), looks)) {
    model::LaunchConfig config = launch_config(node, "");
    conditions.job.backend = std::move(config.rdzv_backend);
    conditions.job.endpoint = std::move(config.rdzv_endpoint);
    conditions.job.config = std::move(config.rdzv_configs);
  }
  return conditions;
}

void Cluster::stop_slowly(sim::NodeId node, std::optional<std::int64_t> local_rank, Duration span,
                          const std::vector<sim::Pid>& workers) {
  HOOKE_CHECK(span >= Duration::zero(), "a worker stops after it was told to");
  slow_stops_[{node, local_rank.value_or(-1)}] = span;
  for (const sim::Pid pid : workers) {
    const auto found = living_workers_.find({node, pid});
    if (found != living_workers_.end()) found->second->slow_stop(span);
  }
}

std::int64_t Cluster::spawn_children(sim::NodeId node, sim::Pid worker, std::int64_t count) {
  HOOKE_CHECK(worker.value > 0, "a worker has a number");
  const auto found = living_workers_.find({node, worker});
  return found == living_workers_.end() ? 0 : found->second->spawn_children(count);
}

}  // namespace hooke::scenario
