// The launcher: rendezvous handler and agent; endings/ has what each ending means for the rendezvous
// and for the exit status.
#include "model/launch/launch_agent.h"

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "model/agent/worker_starts.h"
#include "model/launch/kinds/endings_of_variant.h"
#include "model/launch/plugins.h"
#include "model/launch/raised_errors.h"
#include "model/observe/restart_events.h"
#include "model/observe/shutdown_events.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic_factory.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"
#include "model/signals/signal_gate.h"
#include "model/variant/defects.h"
#include "model/worker/failure_summary.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

void announce(sim::Ports& ports, const LaunchConfig& config, const WorkerSpec& spec,
              const RendezvousParameters& parameters) {
  ports.trace.emit(events::agent_started,
                   {config.run_id, config.rdzv_backend, config.min_nodes, config.max_nodes,
                    config.nproc_per_node, config.max_restarts, spec.grace_at_end()});
  const RendezvousSettings settings = settings_of_variant(parameters);
  const sim::Duration keep_alive =
      parameters.backend == "etcd" ? kLegacyKeepAlive
                                   : settings.keep_alive_interval * settings.keep_alive_max_attempt;
  ports.trace.emit(events::agent_settings,
                   {settings.timeout.join, settings.timeout.last_call, settings.timeout.close,
                    settings.timeout.heartbeat, keep_alive, settings.read_timeout,
                    config.monitor_interval, config.exit_barrier_timeout});
}

/// What torchrun adds to its own environment, and so to that of the workers: one thread per worker
/// where there are several (run.py:config_from_args), and since 2.10 the signals that become exceptions
/// (launcher/api.py:launch_agent).
std::map<std::string, std::string> launcher_environment(const sim::ProcessHost& processes,
                                                        const LaunchConfig& config) {
  std::map<std::string, std::string> added;
  if (config.nproc_per_node > 1 && !processes.environment().contains("OMP_NUM_THREADS")) {
    added["OMP_NUM_THREADS"] = "1";
  }
  if (!tells_workers_its_signals(config.variant)) return added;
  std::string& names = added["TORCHELASTIC_SIGNALS_TO_HANDLE"];
  for (const sim::Signal signal : config.signals_to_handle) {
    names += (names.empty() ? "" : ",") + std::string(to_string(signal));
  }
  return added;
}

WorkerSpec worker_spec(const sim::ProcessHost& processes, const LaunchConfig& config) {
  WorkerSpec spec;
  spec.role = config.role;
  spec.local_world_size = config.nproc_per_node;
  spec.command = config.command;
  spec.max_restarts = config.max_restarts;
  spec.monitor_interval = config.monitor_interval;
  spec.exit_barrier_timeout = config.exit_barrier_timeout;
  spec.shutdown_timeout = config.shutdown_timeout;
  spec.signals_to_handle = config.signals_to_handle;
  const auto identical = processes.environment().find("TORCH_ELASTIC_WORKER_IDENTICAL");
  spec.worker_identical = identical != processes.environment().end() && identical->second == "1";
  spec.virtual_local_rank = config.virtual_local_rank;
  spec.environment = launcher_environment(processes, config);
  spec.processors = config.processors;
  spec.logs = config.logs;
  if (names_nodes_by_address(config.variant)) spec.local_addr = config.local_addr;
  spec.event_log_handler = config.event_log_handler;
  spec.heartbeats = config.heartbeats;
  spec.variant = config.variant;
  spec.silent_in_exit_barrier = is_silent_in_the_exit_barrier(config.variant) ||
                                config.defects.contains("health_check.silent_in_exit_barrier");
  spec.waits_without_limit_for_the_killed =
      waits_without_limit_for_the_killed(config.variant) ||
      config.defects.contains("worker.killed_waited_for_without_limit");
  spec.planted = planted_among(config.defects);
  return spec;
}

Ending run_guarded(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& config,
                   WorkerSpec spec, const Endings& endings, RendezvousHandler& handler,
                   Observers& observers) {
  const auto manner = plugins.shutdowns.create(config.shutdown);
  spec.tells_when_done = manner->looks_at_others();
  if (config.shutdown.name != LaunchConfig().shutdown.name)
    ports.trace.emit(events::shutdown_settings, {config.shutdown.name, manner->limit()});
  const auto policy = plugins.restart_policies.create(config.restart_policy);
  const auto launcher = plugins.launchers.create(config.process_launcher)->make(ports);
  const auto timers = plugins.timers.create(config.timer);
  const auto kind = plugins.agents.create(config.agent);
  HOOKE_CHECK(launcher != nullptr && kind->make != nullptr, "what is chosen can be made");
  HOOKE_CHECK(manner != nullptr && policy != nullptr && timers != nullptr,
              "what is chosen can be made");
  const AgentParts parts{ports, spec, handler, observers, *policy, *launcher, *timers};
  const std::unique_ptr<Agent> made = kind->make(parts);
  HOOKE_CHECK(made != nullptr, "an agent that is registered is made");
  Agent& agent = *made;
  Ending ending;
  try {
    const std::optional<RunResult> result = agent.run();
    endings.tell_returned(agent);
    ending = endings.of_result(result);
    endings.tell_judged(agent, !result, ending);
    ending.others_are_done = result && result->others_are_done;
  } catch (const SignalException& error) {
    ending = endings.of_signal(agent, error);
    if (agent.handles(error.signal())) agent.ended("FAILED", ending.detail);
    const bool closes =
        closes_on_a_signal(spec.variant) || config.defects.contains("launcher.shutdown_on_signal");
    ending.parting = closes ? Ending::Parting::closes : endings.parting_of_signal(agent, error);
  } catch (const std::exception& error) {
    endings.of_error(ending, agent, error);
  }
  endings.look_again(handler, ending);
  ports.fault_point.reach("agent.closing");
  try {
    endings.part(handler, ending, *manner);
  } catch (const SignalException& error) {
    ending = endings.of_signal(agent, error);
  }
  return ending;
}

struct Runs {
  std::int64_t run = 1;      ///< of the job
  std::int64_t attempt = 1;  ///< of this agent at that one
};

bool begins_again(const Plugins& plugins, const LaunchConfig& config, const Ending& ending,
                  const Runs& runs) {
  HOOKE_CHECK(runs.run >= 1 && runs.attempt >= 1, "runs of a job are numbered from 1");
  return (ending.job_failed || ending.comes_back) &&
         plugins.restart_policies.create(config.restart_policy)
             ->runs_job_again(ending.job_failed ? runs.run : runs.attempt);
}

/// Tells of the agent and makes its handler. What that is made from is gone afterwards, from the
/// stack, too, where it would stay as long as the agent: a world may have a hundred thousand.
[[gnu::noinline]] std::unique_ptr<RendezvousHandler> begin(sim::Ports& ports,
                                                           const Plugins& plugins,
                                                           const LaunchConfig& config,
                                                           WorkerSpec& spec,
                                                           std::shared_ptr<TcpStoreServer> served) {
  HOOKE_CHECK(!config.run_id.empty(), "a job that is run has a name");
  const RendezvousParameters parameters{
      config.rdzv_backend, config.rdzv_endpoint, config.run_id,       config.min_nodes,
      config.max_nodes,    config.local_addr,    config.rdzv_configs, config.variant,
      config.defects,      spec.planted,         std::move(served)};
  announce(ports, config, spec, parameters);
  ports.fault_point.reach("agent.started");
  if (const auto refused = plugins.refusal(config)) throw std::invalid_argument(refused->reason);
  if (makes_the_log_directory_first(spec.variant) && spec.logs.directory.empty())
    spec.logs.directory = make_log_directory(ports);
  auto handler = plugins.rendezvous.create(ports, parameters);
  HOOKE_CHECK(handler != nullptr, "a rendezvous that is registered is made");
  return handler;
}

/// No monitor sees a handler that is gone.
struct HiddenAtEnd {
  Observers& observers;
  ~HiddenAtEnd() { observers.rendezvous = nullptr; }
};

/// One run of the job, from the first rendezvous to the end of this agent's part in it. `served`:
/// what the run before has handed on; what this one hands on to the next.
Ending run_once(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& config,
                WorkerSpec& spec, const Endings& endings, Observers& observers, const Runs& runs,
                std::shared_ptr<TcpStoreServer>& served) {
  std::unique_ptr<RendezvousHandler> handler;  // and the store it may serve: until the very end
  Ending ending;
  try {
    handler = begin(ports, plugins, config, spec, std::exchange(served, nullptr));
    HOOKE_CHECK(observers.rendezvous == nullptr, "a monitor sees one rendezvous at a time");
    observers.rendezvous = handler.get();
    const HiddenAtEnd hidden{observers};
    ending = run_guarded(ports, plugins, config, spec, endings, *handler, observers);
    // An agent that was told to go goes; any other serves on what the others need.
    if (begins_again(plugins, config, ending, runs)) {
      served = handler->hand_on();
    } else if (std::string_view(ending.outcome) != "signalled") {
      handler->linger();
    }
  } catch (const SignalException& error) {  // before there is a handler to close or leave
    ports.trace.emit(events::agent_signalled, {static_cast<int>(error.signal()), "before workers"});
    ending = {"signalled", endings.early_signal_status(error.signal()), error.what()};
  } catch (const std::exception& error) {
    ending.detail = class_of(error) + ": " + error.what();
  }
  // Of failed workers the root cause has been passed on; whatever else ends an agent is its own
  // error, but for a keyboard interrupt.
  HOOKE_CHECK(0 <= ending.exit_code && ending.exit_code <= 255, "an exit status is a byte");
  HOOKE_CHECK(std::string_view(ending.outcome) != "succeeded" || ending.exit_code == 0,
              "success has the exit status 0");
  HOOKE_CHECK(observers.rendezvous == nullptr, "a monitor sees no handler that is gone");
  const bool own = ending.exit_code == kExitFailed && std::string_view(ending.outcome) != "failed";
  const bool signalled = std::string_view(ending.outcome) == "signalled";
  if (own) record_error(ports, (signalled ? "SignalException: " : "") + ending.detail);
  ports.trace.emit(events::agent_finished, {ending.outcome, ending.exit_code, ending.detail});
  return ending;
}

}  // namespace

int launch_agent(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& given,
                 Observers* observers) {
  Observers usual(ports);
  const LaunchConfig* config = &given;
  std::unique_ptr<LaunchConfig> renamed;  // copied only where it has to be: it is large
  const auto rename = [&](std::string run_id) {
    if (renamed == nullptr) renamed = std::make_unique<LaunchConfig>(given);
    renamed->run_id = std::move(run_id);
    config = renamed.get();
  };
  WorkerSpec spec = worker_spec(ports.processes, *config);
  const std::unique_ptr<Endings> endings = make_endings(ports, spec);
  HOOKE_CHECK(endings != nullptr, "each end of an agent has a meaning");
  if (config->run_id.empty()) rename(endings->run_id());
  const std::string run_id = config->run_id;
  HOOKE_CHECK(!run_id.empty(), "a job that is run has a name");
  ports.fault_point.raise_by(&raise_error);
  static_cast<void>(ports.processes.catch_signal(sim::Signal::int_));
  endings->catch_early(spec);
  std::shared_ptr<TcpStoreServer> served;
  for (Runs runs;;) {
    HOOKE_CHECK(runs.run == 1 || config->run_id != run_id,
                "each run of a job has a name of its own");
    const Ending ending = run_once(ports, plugins, *config, spec, *endings,
                                   observers == nullptr ? usual : *observers, runs, served);
    if (!begins_again(plugins, *config, ending, runs)) return ending.exit_code;
    HOOKE_CHECK(std::string_view(ending.outcome) != "succeeded",
                "a job that succeeded is not run again");
    if (ending.job_failed) {
      runs = {runs.run + 1, 1};
      rename(run_id + ".run" + std::to_string(runs.run));
    } else {
      ++runs.attempt;
    }
    spec.signals_caught = true;
    ports.trace.emit(events::job_rerun, {run_id, config->run_id, runs.run});
  }
}

}  // namespace hooke::model
