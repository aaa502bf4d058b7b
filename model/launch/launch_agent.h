#pragma once
// One agent from start to exit, as torchrun runs it (torch/distributed/launcher/api.py:
// LaunchConfig, launch_agent; torch/distributed/run.py for the exit status).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/agent/agent_reports.h"
#include "model/plugin/plugin_choice.h"
#include "model/rendezvous/core/handler.h"
#include "model/variant/variant.h"
#include "model/worker/logs.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct LaunchConfig {
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  std::int64_t nproc_per_node = 1;
  std::string run_id = "none";  ///< empty: one is drawn, by each agent its own (L-10)
  std::string role = "default";
  std::string rdzv_backend = "c10d";
  std::string rdzv_endpoint;
  std::map<std::string, std::string> rdzv_configs;
  std::string local_addr;
  std::int64_t max_restarts = 0;
  PluginChoice restart_policy{"torch", {}};
  PluginChoice agent{"elastic", {}};
  PluginChoice timer{"file", {}};
  PluginChoice process_launcher{"local", {}};
  PluginChoice shutdown{"torch", {}};
  sim::Duration monitor_interval = std::chrono::milliseconds(100);
  sim::Duration exit_barrier_timeout = std::chrono::seconds(300);
  sim::Duration shutdown_timeout = std::chrono::seconds(30);
  std::vector<sim::Signal> signals_to_handle{sim::Signal::term, sim::Signal::int_, sim::Signal::hup,
                                             sim::Signal::quit};
  /// argv of each worker; ${local_rank} is substituted.
  std::vector<std::string> command;
  Variant variant = Variant::torch_2_x;
  /// --virtual-local-rank: every worker is told to be local rank 0.
  bool virtual_local_rank = false;
  /// --numa-binding: the processors of each local rank as numactl takes them; empty: not bound.
  std::vector<std::string> processors;
  LogsSpec logs;
  std::string event_log_handler = "null";   ///< destination of events (2.x)
  std::optional<HeartbeatPlan> heartbeats;  ///< nullopt: workers are not asked to beat
  /// Switched-on defects, by name; see model/variant/defects.h.
  std::set<std::string> defects;
};

struct Plugins;

/// Runs the agent in the calling fiber until it is over and returns torchrun's exit status;
/// 130 stands for Python's death of a keyboard interrupt. Death by a signal's
/// default action never returns: the process is gone. Where the restart policy wants a failed job
/// run again, the next run has the run id with ".run2", ".run3" … behind it, a handler and an agent
/// of its own; agents with equal policies meet there. The status is that of the last run.
/// Everything that happens is on the trace; a one-line reason is in `agent.finished`.
/// `observers`: where events and metrics go; null: as PyTorch has them, events by the
/// configuration's handler, metrics nowhere.
int launch_agent(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& given,
                 Observers* observers = nullptr);

}  // namespace hooke::model
