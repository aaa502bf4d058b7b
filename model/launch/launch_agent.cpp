// The launcher: rendezvous handler, agent, and the table of what each ending means for the
// rendezvous and for the exit status.
#include "model/launch/launch_agent.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "model/agent/kinds/workers_of_variant.h"
#include "model/launch/plugins.h"
#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic_factory.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"
#include "model/signals/signal_gate.h"
#include "model/variant/defects.h"
#include "model/worker/failure_summary.h"

namespace hooke::model {
namespace {

constexpr int kFailed = 1;
constexpr int kInterrupted = 130;
/// What a shell adds to a signal's number, and so kInterrupted is of SIGINT.
constexpr int kSignalled = 128;

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

struct Ending {
  const char* outcome;
  int exit_code;
  std::string detail;
  bool job_failed = false;  ///< what a policy may answer by running the job again
  /// How this agent parts with the rendezvous: closes it for everybody, leaves it as it is, or
  /// (hardened) only takes itself out. Hardened agents close nothing but a job whose outcome is
  /// decided: an agent that is stopped or meets an error of its own says nothing about the others
  /// (L-2).
  enum class Parting : unsigned char { closes, walks_off, leaves } parting = Parting::closes;
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

const ProcessFailure& cause_of(const ProcessFailures& failures, const WorkerSpec& spec) {
  if (spec.planted.has(Planted::launcher_last_failure_is_cause)) return failures.back();
  if (spec.planted.has(Planted::launcher_lowest_rank_is_cause)) {
    return *std::min_element(
        failures.begin(), failures.end(),
        [](const ProcessFailure& a, const ProcessFailure& b) { return a.rank < b.rank; });
  }
  return root_failure(failures, spec.variant);
}

Ending judge(sim::Ports& ports, const WorkerSpec& spec, const std::optional<RunResult>& result) {
  if (!result) {
    // A graceful exit gives no result, and the launcher trips over that.
    if (spec.variant == Variant::hardened) return {"graceful_exit", 0, ""};
    return {"graceful_exit", kFailed, "AttributeError: the agent returned no result"};
  }
  if (result->state == WorkerState::unhealthy && spec.variant == Variant::hardened) {
    return {"error", kFailed, "RuntimeError: a worker is asleep in the kernel (state D)"};
  }
  if (!result->failed()) return {"succeeded", 0, ""};  // an unhealthy group, too
  const ProcessFailure& cause = cause_of(result->failures, spec);
  const bool local = spec.planted.has(Planted::launcher_local_rank_reported);
  ports.trace.emit(events::failure_reported,
                   {local ? cause.local_rank : cause.rank, cause.pid.value, cause.exit_code});
  static_cast<void>(ports.files.append(
      "/dev/stderr", failure_summary(entry_point_name(spec.command), result->failures,
                                     ports.network.fully_qualified_name(),
                                     root_failure(result->failures, spec.variant))));
  pass_on_error_file(ports, cause);
  return {"failed", spec.planted.has(Planted::launcher_exit_code_lost) ? 0 : kFailed,
          "ChildFailedError: rank " + std::to_string(cause.rank) + ": " + cause.message, true};
}

/// A SIGINT that is not among the agent's own signals, as before the first worker start, is
/// Python's keyboard interrupt.
bool is_keyboard_interrupt(const Agent& agent, const SignalException& error) {
  return !agent.handles(error.signal());
}

/// One status for everything does not tell a scheduler its own preemption from a failure (L-4).
Ending judge(sim::Ports& ports, const WorkerSpec& spec, const Agent& agent,
             const SignalException& error) {
  const bool keyboard_interrupt = is_keyboard_interrupt(agent, error);
  ports.trace.emit(events::agent_signalled, {static_cast<int>(error.signal()),
                                             keyboard_interrupt ? "before workers" : "running"});
  const int exit_code =
      spec.variant == Variant::hardened ? kSignalled + static_cast<int>(error.signal()) : kFailed;
  if (error.signal() == sim::Signal::int_ && spec.planted.has(Planted::launcher_sigint_is_success))
    return {"signalled", 0, error.what()};
  return {"signalled", keyboard_interrupt ? kInterrupted : exit_code, error.what()};
}

/// PyTorch replaces the ending by an error of the shutdown (L-1).
void part(sim::Ports& ports, RendezvousHandler& handler, Variant variant, Ending::Parting how) {
  if (how == Ending::Parting::walks_off) return;
  try {
    static_cast<void>(how == Ending::Parting::leaves ? handler.leave() : handler.shutdown());
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception& error) {
    if (variant != Variant::hardened) throw;
    ports.trace.emit(events::rendezvous_failed,
                     {handler.get_run_id(), class_of(error), error.what()});
  }
  check_signals(ports);
}

Ending run_guarded(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& config,
                   const WorkerSpec& spec, RendezvousHandler& handler, Observers& observers,
                   std::int64_t run) {
  const auto policy = plugins.restart_policies.create(config.restart_policy);
  const auto launcher = plugins.launchers.create(config.process_launcher)->make(ports);
  const auto timers = plugins.timers.create(config.timer);
  const auto kind = plugins.agents.create(config.agent);
  const AgentParts parts{ports, spec, handler, observers, *policy, *launcher, *timers};
  const std::unique_ptr<Agent> made = kind->make(parts);
  Agent& agent = *made;
  using Parting = Ending::Parting;
  const bool hardened = spec.variant == Variant::hardened;
  Ending ending{"error", kFailed, ""};
  try {
    const std::optional<RunResult> result = agent.run();
    if (!hardened) agent.ended("SUCCEEDED", "");  // whatever the workers did (L-9)
    ending = judge(ports, spec, result);
    if (hardened) {
      agent.ended(ending.exit_code == 0 ? "SUCCEEDED" : "FAILED", ending.detail);
      const bool goes_on = result && result->job_goes_on;
      const bool decided =
          !goes_on && (ending.job_failed || (result && result->state == WorkerState::succeeded));
      if (!decided) ending.parting = Parting::leaves;
    } else if (!result) {
      agent.ended("FAILED", ending.detail);
    }
  } catch (const SignalException& error) {
    ending = judge(ports, spec, agent, error);
    if (!is_keyboard_interrupt(agent, error)) agent.ended("FAILED", ending.detail);
    // Closing would forbid later scaling, so a signal leaves the rendezvous open. A keyboard
    // interrupt runs the clean-up like any other error and so closes it for the whole job.
    const bool closes = is_keyboard_interrupt(agent, error) && !hardened;
    const bool leaves = hardened && !spec.planted.has(Planted::launcher_walks_off);
    ending.parting = leaves ? Parting::leaves : Parting::walks_off;
    if (closes || closes_on_a_signal(spec.variant) ||
        config.defects.contains("launcher.shutdown_on_signal"))
      ending.parting = Parting::closes;
  } catch (const std::exception& error) {
    ending.detail = class_of(error) + ": " + error.what();
    ending.job_failed = true;
    // Agents that run a job again meet in the next run only when this one is over for all.
    const bool decided = dynamic_cast<const RendezvousJobLostError*>(&error) != nullptr;
    if (hardened && !decided && !policy->runs_job_again(run)) ending.parting = Parting::leaves;
    agent.ended("FAILED", ending.detail);
    const bool was_closed = dynamic_cast<const RendezvousClosedError*>(&error) != nullptr;
    if (was_closed && spec.planted.has(Planted::launcher_closed_is_success))
      ending = {"succeeded", 0, ""};
  }
  // To get here takes a while, in which others may have gone on.
  const bool closes = hardened && ending.parting == Parting::closes;
  if (closes && handler.successor() == Successor::complete) ending.parting = Parting::leaves;
  ports.fault_point.reach("agent.closing");
  try {
    part(ports, handler, spec.variant, ending.parting);
  } catch (const SignalException& error) {
    ending = judge(ports, spec, agent, error);
  }
  return ending;
}

/// PyTorch catches signals from its first worker start on: before that one ends an agent at
/// once, and leaves on the lists what others take for a node that will come.
void catch_early(sim::ProcessHost& processes, WorkerSpec& spec) {
  if (spec.planted.has(Planted::launcher_deaf_until_workers)) return;
  for (const sim::Signal signal : spec.signals_to_handle)
    static_cast<void>(
        processes.catch_signal(signal));  // refused ones are told of at the first start
  spec.signals_caught = true;
}

/// A whole uuid4 in decimal, as PyTorch draws it, has more digits; it is only a name.
std::string drawn_run_id(sim::Random& random) {
  const std::uint64_t bound = std::uint64_t{1} << 62U;
  return std::to_string(random.below("launch.run_id", bound)) +
         std::to_string(random.below("launch.run_id", bound));
}

bool runs_again(const Plugins& plugins, const LaunchConfig& config, const Ending& ending,
                std::int64_t run) {
  return ending.job_failed &&
         plugins.restart_policies.create(config.restart_policy)->runs_job_again(run);
}

/// No monitor sees a handler that is gone.
struct HiddenAtEnd {
  Observers& observers;
  ~HiddenAtEnd() { observers.rendezvous = nullptr; }
};

/// One run of the job, from the first rendezvous to the end of this agent's part in it.
Ending run_once(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& config,
                const WorkerSpec& spec, Observers& observers, std::int64_t run) {
  const RendezvousParameters parameters{
      config.rdzv_backend, config.rdzv_endpoint, config.run_id,  config.min_nodes, config.max_nodes,
      config.local_addr,   config.rdzv_configs,  config.variant, config.defects,   spec.planted};
  std::unique_ptr<RendezvousHandler> handler;  // and the store it may serve: until the very end
  Ending ending{"error", kFailed, ""};
  try {
    announce(ports, config, spec, parameters);
    ports.fault_point.reach("agent.started");
    if (const auto refused = plugins.refusal(config)) throw std::invalid_argument(refused->reason);
    handler = plugins.rendezvous.create(ports, parameters);
    observers.rendezvous = handler.get();
    const HiddenAtEnd hidden{observers};
    ending = run_guarded(ports, plugins, config, spec, *handler, observers, run);
    // An agent that was told to go goes, and the next run needs the port; everybody else serves on
    // what the others need.
    const bool told_to_go = std::string_view(ending.outcome) == "signalled";
    if (!told_to_go && !runs_again(plugins, config, ending, run)) {
      handler->linger();
    }
  } catch (const SignalException& error) {  // before there is a handler to close or leave
    ports.trace.emit(events::agent_signalled, {static_cast<int>(error.signal()), "before workers"});
    const bool by_signal = spec.variant == Variant::hardened;
    ending = {"signalled", by_signal ? kSignalled + static_cast<int>(error.signal()) : kInterrupted,
              error.what()};
  } catch (const std::exception& error) {
    ending.detail = class_of(error) + ": " + error.what();
  }
  // Of failed workers the root cause has been passed on; whatever else ends an agent is its own
  // error, but for a keyboard interrupt.
  const bool own = ending.exit_code == kFailed && std::string_view(ending.outcome) != "failed";
  if (own) record_error(ports, ending.detail);
  ports.trace.emit(events::agent_finished, {ending.outcome, ending.exit_code, ending.detail});
  return ending;
}

}  // namespace

int launch_agent(sim::Ports& ports, const Plugins& plugins, const LaunchConfig& given,
                 Observers* observers) {
  Observers usual(ports);
  LaunchConfig config = given;
  if (config.run_id.empty()) {
    // Each agent its own, so that they never meet (L-10); hardened, torchrun's default.
    config.run_id =
        config.variant == Variant::hardened ? LaunchConfig{}.run_id : drawn_run_id(ports.random);
  }
  const std::string run_id = config.run_id;
  WorkerSpec spec = worker_spec(ports.processes, config);
  static_cast<void>(ports.processes.catch_signal(sim::Signal::int_));
  if (spec.variant == Variant::hardened) catch_early(ports.processes, spec);
  for (std::int64_t run = 1;; ++run) {
    const Ending ending =
        run_once(ports, plugins, config, spec, observers == nullptr ? usual : *observers, run);
    if (!runs_again(plugins, config, ending, run)) return ending.exit_code;
    config.run_id = run_id + ".run" + std::to_string(run + 1);
    spec.signals_caught = true;
    ports.trace.emit(events::job_rerun, {run_id, config.run_id, run + 1});
  }
}

}  // namespace hooke::model
