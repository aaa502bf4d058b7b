// Starting and ending processes; watching them is in real_cluster_watch.cpp.
#include "scenarios/real/real_cluster.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "model/observe/trace_events.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/worker_program.h"
#include "sim/real/process_tree.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
namespace wev = world::events;

constexpr Duration kStoreTimeout = 20s;
constexpr const char* kLoopback = "127.0.0.1";

/// Whole seconds as torchrun reads them; anything finer with a unit, which only hooke agents read.
std::string seconds_text(Duration span) {
  if (span % 1s == Duration::zero()) return std::to_string(span / 1s);
  return std::to_string(span / 1ms) + "ms";
}

std::string decimal_seconds(Duration span) {
  std::ostringstream out;
  out << static_cast<double>(span / 1ms) / 1000;
  return out.str();
}

bool takes_programs_away(const Scenario& scenario) {
  return std::any_of(scenario.timeline.begin(), scenario.timeline.end(),
                     [](const TimelineEntry& entry) { return entry.what == "worker.start_fails"; });
}

}  // namespace

RealCluster::RealCluster(sim::Ports& ports, const Scenario& scenario, const AgentProgram& program,
                         std::string directory, const std::vector<std::string>& node_names,
                         TraceMerger& merger)
    : ports_(ports),
      scenario_(scenario),
      program_(program),
      directory_(std::move(directory)),
      node_names_(node_names),
      merger_(merger) {
  const std::size_t nodes = scenario.cluster.nodes.size();
  store_machine_ = sim::NodeId{static_cast<std::uint32_t>(nodes)};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (scenario.cluster.nodes[i].id == scenario.cluster.store_host)
      store_machine_ = sim::NodeId{i};
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const bool hosts = sim::NodeId{i} == store_machine_;
    links_.push_back(hosts ? nullptr
                           : std::make_unique<real::LinkProxy>(
                                 ports, sim::Endpoint{kLoopback, store_port_.port()}));
  }
  if (scenario.protocol.agent.heartbeats) {
    for (std::size_t i = 0; i < nodes; ++i) {
      real::PortReservation agent;
      const sim::Endpoint beats{kLoopback, agent.port()};
      heartbeat_links_.push_back(
          {std::move(agent), std::make_unique<real::LinkProxy>(ports, beats)});
    }
  }
  if (takes_programs_away(scenario)) {
    for (std::uint32_t i = 0; i < nodes; ++i) {
      own_programs_.push_back(directory_ + "/worker-of-" + node_names_[i]);
      std::filesystem::create_symlink(program_.hooke, own_programs_.back());
    }
  }
  const auto written = ports.files.write(directory_ + "/scenario.json", write_scenario(scenario));
  if (!written) throw std::runtime_error(written.failure().detail);
}

RealCluster::~RealCluster() = default;

bool RealCluster::store_is_external() const {
  return store_machine_.value == scenario_.cluster.nodes.size();
}

/// 127.0.1.1 and on: all of 127/8 is this machine, and everybody gets an address that is his.
std::string RealCluster::address(sim::NodeId node) const {
  if (node == store_machine_ && store_is_external()) return kLoopback;
  return "127.0." + std::to_string(1 + node.value / 250) + "." +
         std::to_string(1 + node.value % 250);
}

sim::WorldTime RealCluster::now() const {
  return sim::WorldTime(ports_.clock.monotonic_now().time_since_epoch());
}

void RealCluster::note(sim::NodeId node, sim::Pid pid, const sim::EventType& type,
                       std::vector<RawEvent::Field> fields) {
  merger_.note({now(), node, pid, &type, std::move(fields)});
}

// ---- the store ----------------------------------------------------------------------------------

void RealCluster::start_store() {
  sim::SpawnRequest request;
  request.argv = {program_.hooke, "store", "--port", std::to_string(store_port_.port().value)};
  request.environment = environment(store_machine_);
  request.stdout_path = request.stderr_path = directory_ + "/store.log";
  // Agents may have found it before we do.
  const sim::WorldTime begin = now();
  const auto pid = ports_.processes.spawn(request);
  if (!pid) throw std::runtime_error(pid.failure().detail);
  const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + kStoreTimeout;
  const sim::Endpoint store{kLoopback, store_port_.port()};
  while (!ports_.network.connect(store, deadline)) {
    if (ports_.clock.monotonic_now() >= deadline) {
      const auto log = ports_.files.read(request.stdout_path);
      throw std::runtime_error(
          "the store does not serve on port " + std::to_string(store_port_.port().value) +
          (log && !log.value().empty() ? ": " + log.value() : ", and says nothing"));
    }
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + 20ms);
  }
  store_process_ = pid.value();
  merger_.note({begin,
                store_machine_,
                pid.value(),
                &wev::process_started,
                {0, std::string(kStoreProgram), pid.value().value}});
  merger_.note({begin,
                store_machine_,
                pid.value(),
                &ev::store_serving,
                {std::int64_t{store_port_.port().value}, std::string("rendezvous")}});
}

// ---- agents -------------------------------------------------------------------------------------

std::map<std::string, std::string> RealCluster::environment(sim::NodeId node) const {
  std::map<std::string, std::string> out = ports_.processes.environment();
  for (const auto& [name, value] : scenario_.protocol.agent.environment) out[name] = value;
  if (program_.kind == AgentKind::torchrun) {
    for (const auto& [name, value] : torchrun_log_environment()) out[name] = value;
  }
  out[kClusterVariable] = directory_;
  out[kSignalFileVariable] = directory_ + "/signals-" + node_names_[node.value];
  out[kNodeVariable] = node_names_[node.value];
  out[kStoreVariable] = (store_is_external() ? kLoopback : address(store_machine_)) +
                        std::string(":") + std::to_string(store_port_.port().value);
  out["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] =
      std::to_string(scenario_.protocol.agent.shutdown_timeout / 1s);
  if (node.value < scenario_.cluster.nodes.size()) {
    const Duration skew = scenario_.cluster.nodes[node.value].clock_skew;
    if (skew != Duration::zero()) out[kWallOffsetVariable] = std::to_string(skew.count());
  }
  return out;
}

std::vector<std::string> RealCluster::agent_command(sim::NodeId node, const std::string& run_id,
                                                    const std::string& trace) const {
  const RendezvousPlan& plan = scenario_.protocol.rendezvous;
  const AgentPlan& agent = scenario_.protocol.agent;
  std::vector<std::string> argv;
  if (program_.kind == AgentKind::hooke) {
    argv = {program_.hooke,
            "agent",
            "--trace",
            trace,
            "--protocol-variant",
            std::string(to_string(scenario_.variant_of(scenario_.cluster.nodes[node.value]))),
            "--restart-policy",
            agent.restart_policy,
            "--timer",
            agent.timer,
            "--shutdown",
            agent.shutdown,
            "--process-launcher",
            agent.process_launcher};
    const std::vector<std::string> heartbeats = heartbeat_flags(node);
    argv.insert(argv.end(), heartbeats.begin(), heartbeats.end());
  } else {
    std::istringstream words(program_.torchrun);
    for (std::string word; words >> word;) argv.push_back(word);
  }
  const bool hosts = node == store_machine_;
  const std::string endpoint =
      hosts ? address(node) + ":" + std::to_string(store_port_.port().value)
            : kLoopback + std::string(":") + std::to_string(links_[node.value]->port().value);
  std::string configuration;
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"join_timeout", seconds_text(plan.join)},
           {"last_call_timeout", seconds_text(plan.last_call)},
           {"close_timeout", seconds_text(plan.close)},
           {"heartbeat_timeout", seconds_text(plan.heartbeat)},
           {"keep_alive_interval", seconds_text(plan.keep_alive_interval)},
           {"keep_alive_max_attempt", std::to_string(plan.keep_alive_max_attempts)},
           {"read_timeout", seconds_text(plan.read_timeout)},
           {"is_host", hosts ? "1" : "0"}}) {
    configuration += (configuration.empty() ? "" : ",") + name + "=" + value;
  }
  argv.insert(argv.end(),
              {"--nnodes=" + std::to_string(plan.min_nodes) + ":" + std::to_string(plan.max_nodes),
               "--nproc_per_node=" + std::to_string(scenario_.workers.per_node),
               "--max_restarts=" + std::to_string(agent.max_restarts),
               "--monitor_interval=" + decimal_seconds(agent.monitor_interval),
               "--rdzv_backend=c10d", "--rdzv_endpoint=" + endpoint, "--rdzv_id=" + run_id,
               "--rdzv_conf=" + configuration, "--local_addr=" + address(node), "--no_python",
               own_programs_.empty() ? program_.hooke : own_programs_[node.value], "worker"});
  return argv;
}

std::vector<std::string> RealCluster::heartbeat_flags(sim::NodeId node) const {
  const std::optional<model::HeartbeatPlan>& plan = scenario_.protocol.agent.heartbeats;
  if (!plan) return {};
  const HeartbeatLink& link = heartbeat_links_[node.value];
  std::vector<std::string> out{"--heartbeat-deadline=" + decimal_seconds(plan->deadline),
                               "--heartbeat-interval=" + decimal_seconds(plan->interval),
                               "--heartbeat-policy=" + std::string(to_string(plan->policy)),
                               "--heartbeat-port=" + std::to_string(link.agent.port().value),
                               "--heartbeat-address=" + std::string(kLoopback) + ":" +
                                   std::to_string(link.proxy->port().value)};
  if (plan->first_beat) {
    out.push_back("--heartbeat-first-beat=" + decimal_seconds(*plan->first_beat));
  }
  if (plan->peers) out.emplace_back("--heartbeat-peers");
  return out;
}

bool RealCluster::start_agent(sim::NodeId node, const std::string& run_id) {
  if (down_.contains(node)) return false;
  const std::string name = node_names_[node.value] + "-" + std::to_string(started_++);
  const std::string trace = directory_ + "/agent-" + name + ".jsonl";
  sim::SpawnRequest request;
  request.argv = agent_command(node, run_id, trace);
  request.environment = environment(node);
  request.stdout_path = request.stderr_path = directory_ + "/agent-" + name + ".log";
  // It may say something before we do.
  const sim::WorldTime begin = now();
  const auto pid = ports_.processes.spawn(request);
  if (!pid) throw std::runtime_error(request.argv.front() + ": " + pid.failure().detail);
  agents_.push_back({node, pid.value(), request.stderr_path, std::nullopt});
  merger_.note({begin,
                node,
                pid.value(),
                &wev::process_started,
                {0, std::string(kAgentProgram), pid.value().value}});
  if (program_.kind == AgentKind::hooke) {
    tails_[trace].node = node;
  } else {
    Tail& log = tails_[request.stderr_path];
    log.node = node;
    log.agent = pid.value();
    tell_settings(agents_.back(), run_id);
  }
  return true;
}

/// What a hooke agent says when it begins.
void RealCluster::tell_settings(const Agent& agent, const std::string& run_id) {
  const RendezvousPlan& plan = scenario_.protocol.rendezvous;
  const AgentPlan& config = scenario_.protocol.agent;
  note(agent.node, agent.pid, ev::agent_started,
       {run_id, plan.backend, plan.min_nodes, plan.max_nodes, scenario_.workers.per_node,
        config.max_restarts, config.shutdown_timeout.count()});
  note(
      agent.node, agent.pid, ev::agent_settings,
      {plan.join.count(), plan.last_call.count(), plan.close.count(), plan.heartbeat.count(),
       (plan.keep_alive_interval * plan.keep_alive_max_attempts).count(), plan.read_timeout.count(),
       config.monitor_interval.count(), config.exit_barrier_timeout.count()});
  note(agent.node, agent.pid, ev::rendezvous_joining,
       {run_id, node_names_[agent.node.value] + "_" + std::to_string(agent.pid.value) + "_0", 0});
}

bool RealCluster::signal(sim::NodeId node, sim::Pid pid, sim::Signal signal) {
  // Dead already, although perhaps no agent has noticed its end.
  const auto sent = kill_signals_.find(pid);
  if (sent != kill_signals_.end() && sent->second.signal == sim::Signal::kill) return false;
  note(node, pid, wev::process_signalled, {0, pid.value, static_cast<int>(signal), 0});
  if (!ports_.processes.signal(pid, signal)) return false;
  if (signal == sim::Signal::stop || signal == sim::Signal::cont) return true;
  kill_signals_[pid] = {signal, now()};
  const auto agent = std::find_if(agents_.begin(), agents_.end(),
                                  [&](const Agent& each) { return each.pid == pid; });
  if (agent != agents_.end()) agent->told = signal;
  return true;
}

void RealCluster::crash(sim::NodeId node) {
  if (!down_.insert(node).second) return;
  note(node, sim::Pid{0}, wev::node_crashed, {node_names_[node.value]});
  const std::string own = std::string(kNodeVariable) + "=" + node_names_[node.value];
  const std::string cluster = std::string(kClusterVariable) + "=" + directory_;
  const std::vector<sim::Pid> ours = real::processes_marked(cluster);
  for (const sim::Pid pid : real::processes_marked(own)) {
    if (std::find(ours.begin(), ours.end(), pid) == ours.end()) continue;  // another run's
    static_cast<void>(ports_.processes.signal(pid, sim::Signal::kill));
    kill_signals_[pid] = {sim::Signal::kill, now()};
  }
}

bool RealCluster::boot(sim::NodeId node) {
  if (down_.erase(node) == 0) return false;
  note(node, sim::Pid{0}, wev::node_restarted, {node_names_[node.value]});
  return true;
}

void RealCluster::let_workers_start(sim::NodeId node, bool can) {
  const std::string& program = own_programs_.at(node.value);
  const std::string hidden = program + ".gone";
  static_cast<void>(ports_.files.rename(can ? hidden : program, can ? program : hidden));
}

void RealCluster::order_exit(sim::Pid worker, std::int64_t code) {
  const std::string path = directory_ + "/order-" + std::to_string(worker.value);
  static_cast<void>(ports_.files.write(path + ".part", "exit " + std::to_string(code)));
  static_cast<void>(ports_.files.rename(path + ".part", path));
}

std::vector<real::LinkProxy*> RealCluster::links(const std::vector<sim::NodeId>& nodes) {
  std::vector<real::LinkProxy*> out;
  for (const sim::NodeId node : nodes) {
    if (node.value < links_.size() && links_[node.value]) out.push_back(links_[node.value].get());
  }
  return out;
}

std::vector<real::LinkProxy*> RealCluster::heartbeat_links(const std::vector<sim::NodeId>& nodes) {
  std::vector<real::LinkProxy*> out;
  for (const sim::NodeId node : nodes) {
    if (node.value < heartbeat_links_.size())
      out.push_back(heartbeat_links_[node.value].proxy.get());
  }
  return out;
}

}  // namespace hooke::scenario
