// The launcher: rendezvous handler, agent, and the table of what each ending means for the
// rendezvous and for the exit status.
#include "model/launch/launch_agent.h"

#include <exception>
#include <stdexcept>

#include "model/agent/elastic_agent.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/decisions.h"
#include "model/rendezvous/dynamic_handler.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {
namespace {

constexpr int kFailed = 1;
constexpr int kInterrupted = 130;

void announce(sim::Ports& ports, const LaunchConfig& config,
              const RendezvousParameters& parameters) {
  ports.trace.emit(events::agent_started,
                   {config.run_id, config.rdzv_backend, config.min_nodes, config.max_nodes,
                    config.nproc_per_node, config.max_restarts, config.shutdown_timeout});
  RendezvousSettings settings = dynamic_settings(parameters);
  const sim::Duration read_timeout =
      parameters.get_as_seconds("read_timeout").value_or(std::chrono::seconds(60));
  ports.trace.emit(
      events::agent_settings,
      {settings.timeout.join, settings.timeout.last_call, settings.timeout.close,
       settings.timeout.heartbeat, settings.keep_alive_interval * settings.keep_alive_max_attempt,
       read_timeout, config.monitor_interval, config.exit_barrier_timeout});
}

WorkerSpec worker_spec(const LaunchConfig& config) {
  WorkerSpec spec;
  spec.role = config.role;
  spec.local_world_size = config.nproc_per_node;
  spec.command = config.command;
  spec.max_restarts = config.max_restarts;
  spec.monitor_interval = config.monitor_interval;
  spec.exit_barrier_timeout = config.exit_barrier_timeout;
  spec.shutdown_timeout = config.shutdown_timeout;
  spec.signals_to_handle = config.signals_to_handle;
  spec.local_addr = config.local_addr;
  spec.worker_identical = config.worker_identical;
  spec.log_dir = config.log_dir + "/" + config.run_id;
  spec.variant = config.variant;
  return spec;
}

struct Ending {
  const char* outcome;
  int exit_code;
  std::string detail;
};

/// PyTorch's class name of an error, for the trace.
std::string class_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const RendezvousError*>(&error)) return known->class_name();
  if (const auto* raw = dynamic_cast<const EscapedPythonError*>(&error)) return raw->class_name();
  if (dynamic_cast<const StoreTimeoutError*>(&error) != nullptr) return "DistStoreError";
  if (dynamic_cast<const StoreError*>(&error) != nullptr) return "DistNetworkError";
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) return "ValueError";
  return "RuntimeError";
}

Ending judge(sim::Ports& ports, const std::optional<RunResult>& result) {
  if (!result) {
    // A graceful exit gives no result, and the launcher trips over that.
    return {"graceful_exit", kFailed, "AttributeError: the agent returned no result"};
  }
  if (!result->failed()) return {"succeeded", 0, ""};
  const ProcessFailure& cause = first_failure(result->failures);
  std::int64_t rank = 0;
  for (const auto& [global_rank, failure] : result->failures) {
    if (&failure == &cause) rank = global_rank;
  }
  ports.trace.emit(events::failure_reported, {rank, cause.pid.value, cause.exit_code});
  return {"failed", kFailed,
          "ChildFailedError: rank " + std::to_string(rank) + " " + cause.message};
}

Ending run_guarded(sim::Ports& ports, const LaunchConfig& config, RendezvousHandler& handler) {
  ElasticAgent agent(ports, worker_spec(config), handler);
  bool close_rendezvous = true;
  Ending ending{"error", kFailed, ""};
  try {
    ending = judge(ports, agent.run());
  } catch (const SignalException& error) {
    // Python's own handler turns a SIGINT before the first worker start into a keyboard interrupt,
    // which runs the clean-up like any other error and so closes the rendezvous for the whole job
    //
    const bool keyboard_interrupt = !agent.handles_signals();
    ports.trace.emit(events::agent_signalled, {static_cast<int>(error.signal()),
                                               keyboard_interrupt ? "before workers" : "running"});
    ending = {"signalled", keyboard_interrupt ? kInterrupted : kFailed, error.what()};
    // Closing would forbid later scaling, so a signal leaves the rendezvous open.
    close_rendezvous = keyboard_interrupt || config.defects.contains("launcher.shutdown_on_signal");
  } catch (const std::exception& error) {
    ending.detail = class_of(error) + ": " + error.what();
  }
  ports.fault_point.reach("agent.closing");
  if (close_rendezvous) static_cast<void>(handler.shutdown());
  return ending;
}

}  // namespace

int launch_agent(sim::Ports& ports, const RendezvousRegistry& registry,
                 const LaunchConfig& config) {
  RendezvousParameters parameters{config.rdzv_backend, config.rdzv_endpoint, config.run_id,
                                  config.min_nodes,    config.max_nodes,     config.local_addr,
                                  config.rdzv_configs, config.variant};
  static_cast<void>(ports.processes.catch_signal(sim::Signal::int_));
  Ending ending{"error", kFailed, ""};
  std::unique_ptr<RendezvousHandler> handler;
  try {
    announce(ports, config, parameters);
    ports.fault_point.reach("agent.started");
    handler = registry.create(ports, parameters);
    ending = run_guarded(ports, config, *handler);
  } catch (const SignalException& error) {  // SIGINT before there is a handler to close
    ending = {"signalled", kInterrupted, error.what()};
  } catch (const std::exception& error) {
    ending.detail = class_of(error) + ": " + error.what();
  }
  ports.trace.emit(events::agent_finished, {ending.outcome, ending.exit_code, ending.detail});
  return ending.exit_code;
}

}  // namespace hooke::model
