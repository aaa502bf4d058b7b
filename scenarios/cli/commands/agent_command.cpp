// hooke agent: torchrun's command line on hooke's agent.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "model/launch/plugins.h"
#include "model/launch/torchrun_options.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/core/handler.h"
#include "model/store/tcp_store.h"
#include "model/worker/failure_summary.h"
#include "reports/agent_console.h"
#include "reports/exports/agent_metrics.h"
#include "reports/trace_file.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/control_doors.h"
#include "scenarios/cli/heartbeat_flags.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/cli/torchrun_flags.h"
#include "scenarios/real/plugin_file.h"
#include "scenarios/real/real_cluster.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

using model::TorchrunOptions;

/// What launch_agent() returns for a keyboard interrupt.
constexpr int kInterrupted = 130;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// While the resolver is silent, as it is for minutes where a name server does not answer.
void tell_slow_look_up(const std::string& name) {
  const bool is_own = name == host_name();
  const char* const instead =
      is_own ? "--local-addr ADDRESS with --rdzv-conf is_host=0 or is_host=1 (of c10d)"
             : "an address instead of the name";
  std::fprintf(
      stderr,
      "hooke: waits until %s \"%s\" is resolved: no name server has answered for a second; "
      "a line for it in /etc/hosts answers at once, %s makes the question needless\n",
      is_own ? "this machine's own name" : "the name", name.c_str(), instead);
}

/// The generation of PyTorch that serves the job's store already; 2.x where there is none yet.
model::Variant variant_found(sim::Ports& ports, const TorchrunOptions& options) {
  constexpr auto kTimeout = std::chrono::seconds(5);
  const auto configuration = model::parse_rendezvous_configuration(options.rdzv_conf);
  const auto type = configuration.find("store_type");
  const bool tcp = type == configuration.end() || type->second == "tcp";
  if (options.standalone || options.rdzv_backend != "c10d" || !tcp) {
    return model::Variant::torch_2_x;
  }
  const sim::Endpoint endpoint = model::parse_endpoint(options.rdzv_endpoint, 29400);
  if (!ports.network.connect(endpoint, ports.clock.monotonic_now() + kTimeout)) {
    return model::Variant::torch_2_x;
  }
  try {
    return model::detect_tcp_store(ports, endpoint, kTimeout);
  } catch (const model::StoreError&) {
    return model::Variant::torch_2_x;  // the join will say what is wrong
  }
}

/// What --protocol-variant takes.
std::vector<std::string> names_of_variants() {
  std::vector<std::string> names = model::variant_names();
  names.insert(names.begin(), "found");
  return names;
}

/// Of a replaceable part. Returns what is wrong with it, as a check of options does.
std::string is_choice(const std::string& text) {
  try {
    static_cast<void>(model::PluginChoice::parse(text));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

/// Reads the variables of `flags`. What it returns ends the agent as an exception ends torchrun;
/// bad usage is thrown.
std::optional<model::RefusedOption> refused_among(const TorchrunFlags& flags,
                                                  const std::string& start_method) {
  try {
    flags.read_variables();
  } catch (const model::RefusedOption& refused) {
    return refused;
  }
  // Python's argparse looks for a choice on the command line alone.
  const char* const variable = std::getenv("PET_START_METHOD");
  const bool from_variable = variable != nullptr && variable == start_method;
  const std::string wrong =
      from_variable ? "" : CLI::IsMember({"spawn", "fork", "forkserver"})(start_method);
  if (!wrong.empty()) throw CLI::ValidationError("--start-method", wrong);
  return std::nullopt;
}

/// Python's end by a keyboard interrupt: by the signal itself, so that a shell that runs the agent
/// in a loop ends, too.
void die_of_interrupt() {
  std::fflush(nullptr);
  std::signal(SIGINT, SIG_DFL);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  std::raise(SIGINT);
}

int run_agent(TorchrunOptions options, const std::vector<std::string>& plugin_files,
              bool find_variant, const std::string& trace_path, const ControlDoors& doors,
              std::optional<model::HeartbeatPlan> heartbeats,
              const std::optional<model::RefusedOption>& variables_refused) {
  model::Plugins plugins;
  for (const std::string& file : plugin_files) {
    try {
      scenario::load_plugin_file(file, plugins);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "hooke agent: --plugin: %s\n", error.what());
      return kBadInput;
    }
  }
  real::RealProcess process({"hooke"});
  // How scenarios give the agents of one machine different clocks.
  if (const char* const offset = std::getenv(scenario::kWallOffsetVariable)) {
    process.set_wall_clock_offset(sim::Duration(std::atoll(offset)));
  }
  process.on_slow_look_up(tell_slow_look_up);
  report::AgentConsole console(std::cerr);
  process.add_sink(console);
  report::AgentMetrics metrics;
  process.add_sink(metrics);
  std::ofstream trace_file;
  std::unique_ptr<report::TraceFile> trace;
  if (!trace_path.empty()) {
    trace_file << std::unitbuf;  // a reader that follows it sees each event at once
    trace_file.open(trace_path);
    if (!trace_file) throw std::runtime_error(trace_path + ": cannot be written");
    trace = std::make_unique<report::TraceFile>(trace_file, std::vector{host_name()});
    process.add_sink(*trace);
  }
  bool is_pythons = true;  // and ends as Python does
  const int status = process.run([&](sim::Ports& ports) {
    const auto cpus = real::processor_count();
    model::ConfiguredLaunch launch;
    try {
      if (variables_refused) throw *variables_refused;
      if (find_variant) options.variant = variant_found(ports, options);
      launch = model::configure_launch(ports, options, cpus);
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "hooke agent: %s\n", error.what());
      const auto* const known = dynamic_cast<const model::RefusedOption*>(&error);
      const std::string name = known == nullptr ? "ValueError" : known->class_name();
      model::record_error(ports, name + ": " + error.what());
      return 1;  // torchrun's status of a configuration that means nothing
    }
    is_pythons = launch.config.variant != model::Variant::hardened;
    launch.config.heartbeats = heartbeats;
    if (const auto refused = plugins.refusal(launch.config)) {
      std::fprintf(stderr, "hooke agent: --%s: %s\n", refused->option.c_str(),
                   refused->reason.c_str());
      return kBadInput;
    }
    for (const std::string& notice : launch.notices) {
      std::fprintf(stderr, "hooke: %s\n", notice.c_str());
    }
    model::Observers observers(ports);
    std::unique_ptr<model::ControlPlane> control;
    try {
      control = open_control_doors(ports, observers, metrics, doors);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "hooke agent: %s\n", error.what());
      return kBadInput;
    }
    return model::launch_agent(ports, plugins, launch.config, &observers);
  });
  // How the job ended counts for more than what is told of it.
  if (trace && !trace_file.flush()) {
    std::fprintf(stderr, "hooke agent: --trace: %s: not all of it could be written\n",
                 trace_path.c_str());
  }
  if (is_pythons && status == kInterrupted) die_of_interrupt();
  return status;
}

/// The job: its size, and where its agents meet.
void add_rendezvous(TorchrunFlags& flags, TorchrunOptions& o) {
  flags.add("nnodes", o.nnodes, "Number of nodes, or MIN:MAX");
  flags.add("nproc-per-node", o.nproc_per_node, "Workers per node: a number, auto, cpu or gpu");
  flags.add("rdzv-backend", o.rdzv_backend,
            "Rendezvous backend: c10d, etcd-v2, etcd-v3, etcd, static, or a plug-in's");
  flags.add("rdzv-endpoint", o.rdzv_endpoint, "Rendezvous endpoint, HOST[:PORT]");
  flags.add("rdzv-id", o.rdzv_id, "Name of the job; equal on all its nodes");
  flags.add("rdzv-conf", o.rdzv_conf, "Rendezvous configuration, KEY=VALUE,KEY=VALUE");
  flags.add_flag("standalone", o.standalone, "One node, with a rendezvous of its own");
  flags.add("max-restarts", o.max_restarts, "Restarts of the workers before giving up");
}

/// hooke's own: parts of an agent that can be replaced.
void add_parts(CLI::App& command, TorchrunOptions& o, std::vector<std::string>& plugin_files) {
  command
      .add_option("--restart-policy", o.restart_policy,
                  "What follows when workers fail: torch, backoff, per-worker, failed-only (static "
                  "backend, or rejoin=yes) or rerun, with options as in "
                  "backoff:first=1s,factor=2,longest=1m")
      ->check(is_choice)
      ->capture_default_str();
  command
      .add_option("--agent-kind", o.agent_kind,
                  "What runs this node's part: elastic, or a plug-in's")
      ->check(is_choice)
      ->capture_default_str();
  command
      .add_option("--timer", o.timer, "What ends workers that are late: file, queue or a plug-in's")
      ->check(is_choice)
      ->capture_default_str();
  command
      .add_option(
          "--process-launcher", o.process_launcher,
          "What starts the workers: local, patient:attempts=3,pause=1s, pool:port=29600 (see "
          "hooke worker-pool) or a plug-in's")
      ->check(is_choice)
      ->capture_default_str();
  CLI::Option* const shutdown =
      command
          .add_option(
              "--shutdown", o.shutdown,
              "How the rendezvous is closed: torch (at once), graceful:limit=30s (waits for "
              "the other participants, no longer than that), strict (an error while others "
              "are at work) or a plug-in's")
          ->check(is_choice)
          ->capture_default_str();
  command
      .add_option_function<double>(
          "--graceful-shutdown",
          [&o](double limit) {
            o.shutdown = "graceful:limit=" + std::to_string(span_of(limit).count()) + "ns";
          },
          "Close the rendezvous when the other participants are done, and after so many seconds at "
          "the latest")
      ->check(seconds_from(0.001))
      ->excludes(shutdown);
  command
      .add_option("--plugin", plugin_files,
                  "A shared library that registers parts of its own by name; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

/// What workers run, and how they are started.
void add_workers(TorchrunFlags& flags, TorchrunOptions& o, std::string& start_method) {
  flags.add("monitor-interval", o.monitor_interval, "Seconds between looks at the workers");
  flags.add("start-method", start_method,
            "spawn, fork or forkserver; scripts are processes under each");
  flags.add("role", o.role, "Name of the workers' role");
  flags.add_flag("module", o.module, "The script is a Python module", "m");
  flags.add_flag("no-python", o.no_python, "The script is a program of its own");
  flags.add_flag("run-path", o.run_path, "Run the script with runpy.run_path");
}

/// Where the output of workers goes.
void add_logs(CLI::App& command, TorchrunFlags& flags, TorchrunOptions& o) {
  flags.add("log-dir", o.log_dir, "Directory for logs and error files")->type_name("DIR");
  flags.add("redirects", o.redirects, "Streams to files: 0 none, 1 stdout, 2 stderr, 3 both", "r");
  flags.add("tee", o.tee, "As --redirects, and shown besides", "t");
  flags.add("local-ranks-filter", o.local_ranks_filter, "Local ranks that are shown: 0,1");
  flags.add("duplicate-stdout-filters", o.duplicate_stdout_filters,
            "Teed lines with one of these texts also go to filtered_stdout.log: apple,orange");
  flags.add("duplicate-stderr-filters", o.duplicate_stderr_filters,
            "Teed lines with one of these texts also go to filtered_stderr.log");
  command.add_option("--logs-specs,--logs_specs", o.logs_specs,
                     "default; torchrun's others are Python classes");
}

/// What an agent has to know of its own machine and of node 0.
void add_machine(CLI::App& command, TorchrunFlags& flags, TorchrunOptions& o) {
  command
      .add_option("--numa-binding,--numa_binding", o.numa_binding,
                  "Bind each worker to processors near its GPU (needs numactl)")
      ->check(CLI::IsMember({"node", "socket", "exclusive", "core-complex"}));
  flags.add("node-rank", o.node_rank, "Rank of this node (static backend)");
  flags.add("master-addr", o.master_addr, "Address of node 0 (static backend)");
  flags.add("master-port", o.master_port, "Port of node 0 (static backend)");
  flags.add("local-addr", o.local_addr, "Address under which others reach this node");
  flags.add("signals-to-handle", o.signals_to_handle, "Signals that stop the agent orderly");
  flags.add("shutdown-timeout", o.shutdown_timeout, "Seconds from SIGTERM to SIGKILL");
  flags.add_flag("virtual-local-rank", o.virtual_local_rank, "Every worker is local rank 0");
  flags.add("event-log-handler", o.event_log_handler, "Where events go: null, console");
}

}  // namespace

void add_agent(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "agent", "Run a script under an elastic agent, with torchrun's options and wire formats");
  auto options = std::make_shared<TorchrunOptions>();
  auto trace_path = std::make_shared<std::string>();
  auto variant = std::make_shared<std::string>("found");
  auto doors = std::make_shared<ControlDoors>();
  auto plugin_files = std::make_shared<std::vector<std::string>>();
  auto start_method = std::make_shared<std::string>("spawn");
  auto flags = std::make_shared<TorchrunFlags>(*command);
  command->prefix_command();
  add_rendezvous(*flags, *options);
  add_parts(*command, *options, *plugin_files);
  add_workers(*flags, *options, *start_method);
  add_logs(*command, *flags, *options);
  add_machine(*command, *flags, *options);
  add_control_doors(*command, *doors);
  command
      ->add_option("--protocol-variant", *variant,
                   "PyTorch generation of the job; found: that of its c10d store, 2.x if there is "
                   "none yet")
      ->check(CLI::IsMember(names_of_variants()))
      ->capture_default_str();
  command->add_option("--trace", *trace_path, "Write every event as JSON Lines")->type_name("FILE");
  auto heartbeats = std::make_shared<HeartbeatFlags>();
  add_heartbeats(*command, *heartbeats);
  command->footer(
      "Everything from the script on belongs to the script. Options may also be given as PET_* "
      "variables.\nExample: hooke agent --nnodes=1:3 --max-restarts=3 --rdzv-backend=c10d "
      "--rdzv-endpoint=head:29400 train.py --epochs 10\nExit codes are torchrun's: 0; 1 failed or "
      "stopped; 2 bad usage.");
  command->callback([=, &exit_code] {
    const auto refused = refused_among(*flags, *start_method);
    const std::vector<std::string> rest = command->remaining();
    if (rest.empty()) throw CLI::RequiredError("a script to run");
    if (rest.front().size() > 1 && rest.front().starts_with("-")) {
      throw CLI::ExtrasError({rest.front() + " (options come before the script)"});
    }
    options->script = rest.front();
    options->script_arguments.assign(rest.begin() + 1, rest.end());
    options->variant = model::variant_from(*variant).value_or(model::Variant::torch_2_x);
    exit_code = run_agent(*options, *plugin_files, *variant == "found", *trace_path, *doors,
                          heartbeat_plan(*heartbeats), refused);
  });
}

}  // namespace hooke::cli
