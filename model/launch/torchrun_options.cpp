// In the order of run.py; every refusal names the option and what was expected.
#include "model/launch/torchrun_options.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "model/observe/python_numbers.h"
#include "model/rendezvous/core/longest_span.h"
#include "model/worker/numa_binding.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void refuse(const std::string& option, const std::string& expected,
                         const std::string& got, const char* class_name = "ValueError") {
  throw RefusedOption("--" + option + ": expected " + expected + ", got \"" + got + "\"",
                      class_name);
}

/// The parts between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void read_nodes(const std::string& text, LaunchConfig& config) {
  const auto refused = [&](const char* class_name) {
    refuse("nnodes", "a number of nodes or \"MIN:MAX\" with 0 < MIN <= MAX", text, class_name);
  };
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 2) refused("RuntimeError");
  const auto low = python_int(parts.front());
  const auto high = python_int(parts.back());
  if (!low || !high) refused("ValueError");
  if (*low <= 0 || *low > *high) refused("AssertionError");
  config.min_nodes = *low;
  config.max_nodes = *high;
}

/// NVIDIA's device files, as far as CUDA_VISIBLE_DEVICES lets them be seen.
std::int64_t count_gpus(sim::Ports& ports) {
  constexpr std::string_view kDevice = "nvidia";
  std::int64_t count = 0;
  if (const auto devices = ports.files.list("/dev")) {
    for (const std::string& name : devices.value()) {
      if (name.starts_with(kDevice) && python_int(name.substr(kDevice.size()))) ++count;
    }
  }
  HOOKE_CHECK(count >= 0, "devices are counted upward");
  const auto visible = ports.processes.environment().find("CUDA_VISIBLE_DEVICES");
  if (visible == ports.processes.environment().end()) return count;
  if (without_blanks(visible->second).empty()) return 0;
  return std::min(count, static_cast<std::int64_t>(split(visible->second, ',').size()));
}

std::int64_t workers_per_node(sim::Ports& ports, const std::string& text, std::int64_t cpus) {
  if (const auto number = python_int(text)) {
    if (*number <= 0) refuse("nproc-per-node", "more than no worker", text, "AssertionError");
    return *number;
  }
  if (text == "cpu") return cpus;
  const std::int64_t gpus = count_gpus(ports);
  if (text == "auto") return gpus > 0 ? gpus : cpus;
  if (text != "gpu") refuse("nproc-per-node", "a number, \"auto\", \"cpu\" or \"gpu\"", text);
  if (gpus == 0) refuse("nproc-per-node", "a machine with a GPU for \"gpu\"", text);
  return gpus;
}

}  // namespace

std::map<std::string, std::string> parse_rendezvous_configuration(const std::string& text) {
  std::map<std::string, std::string> out;
  if (without_blanks(text).empty()) return out;
  for (const std::string& pair : split(text, ',')) {
    const std::size_t equals = pair.find('=');
    const std::string key(without_blanks(std::string_view(pair).substr(0, equals)));
    // Never the whole text: another of its values may be a password.
    if (key.empty()) refuse("rdzv-conf", "<key1>=<value1>,<key2>=<value2>,...", "");
    const std::string value(equals == std::string::npos
                                ? ""
                                : without_blanks(std::string_view(pair).substr(equals + 1)));
    if (value.empty()) refuse("rdzv-conf", "a value for \"" + key + "\"", "");
    out[key] = value;
  }
  return out;
}

namespace {

StdMap streams(const std::string& option, const std::string& text) {
  try {
    return StdMap::parse(text);
  } catch (const std::invalid_argument& error) {
    throw RefusedOption("--" + option + ": " + error.what());
  }
}

std::optional<std::set<std::int64_t>> shown_ranks(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::set<std::int64_t> ranks;
  for (const std::string& part : split(text, ',')) {
    const auto rank = python_int(part);
    if (!rank) refuse("local-ranks-filter", "local ranks such as \"0,1,2\"", text);
    ranks.insert(*rank);
  }
  return ranks;
}

/// "apple,orange": apple or orange; two commas are one that belongs to the text.
std::vector<std::string> filters(const std::optional<std::string>& text) {
  if (!text) return {};
  std::vector<std::string> out{""};
  for (std::size_t i = 0; i < text->size(); ++i) {
    if ((*text)[i] != ',') {
      out.back() += (*text)[i];
    } else if (i + 1 < text->size() && (*text)[i + 1] == ',') {
      out.back() += (*text)[i++];
    } else {
      out.emplace_back();
    }
  }
  return out;
}

LogsSpec logs(sim::Ports& ports, const TorchrunOptions& options) {
  // Other specifications are Python classes of a package's entry point "torchrun.logs_specs".
  if (options.logs_specs != "default") {
    refuse("logs-specs", "\"default\", the one that is not a Python class", options.logs_specs);
  }
  LogsSpec spec;
  if (!options.log_dir.empty()) spec.directory = options.log_dir;
  // Before the rendezvous, as DefaultLogsSpecs.__init__: an agent that cannot start joins nothing.
  if (!options.log_dir.empty() && options.log_dir != "/dev/null") {
    if (!ports.files.make_directories(options.log_dir))
      refuse("log-dir", "a directory that is there or can be made", options.log_dir,
             "NotADirectoryError");
  }
  spec.redirects = streams("redirects", options.redirects);
  spec.tee = streams("tee", options.tee);
  spec.shown_ranks = shown_ranks(options.local_ranks_filter);
  spec.stdout_filters = filters(options.duplicate_stdout_filters);
  spec.stderr_filters = filters(options.duplicate_stderr_filters);
  const auto& environment = ports.processes.environment();
  const auto prefix = environment.find("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
  if (has_a_line_prefix(options.variant) && prefix != environment.end() &&
      !prefix->second.empty()) {
    spec.line_prefix = prefix->second;
  }
  return spec;
}

std::vector<std::string> processors(sim::Ports& ports, const std::string& mode,
                                    std::int64_t workers) {
  if (mode.empty()) return {};
  const auto affinity = affinity_mode_from(mode);
  if (!affinity) {
    refuse("numa-binding", "\"node\", \"socket\", \"exclusive\" or \"core-complex\"", mode);
  }
  try {
    return numa_processors(ports, *affinity, workers);
  } catch (const std::runtime_error& error) {
    throw RefusedOption("--numa-binding: " + std::string(error.what()));
  }
}

/// A name of no signal is told, and the agent goes on without it (multiprocessing/api.py:start).
std::vector<sim::Signal> signals(const std::string& text, std::vector<std::string>& notices) {
  std::vector<sim::Signal> out;
  for (const std::string& part : split(text, ',')) {
    const std::string name(without_blanks(part));
    const auto* const found =
        std::find_if(sim::kSignals.begin(), sim::kSignals.end(),
                     [&](sim::Signal signal) { return to_string(signal) == name; });
    if (found != sim::kSignals.end()) {
      out.push_back(*found);
    } else {
      notices.push_back("--signals-to-handle: there is no signal \"" + name +
                        "\"; the agent handles the others");
    }
  }
  return out;
}

constexpr std::int64_t kSecondsMax = kLongestSpan / 1s;

/// What Python's time.sleep() takes, and the agent's assertion before it
/// (agent/server/api.py:WorkerSpec). Less than a nanosecond is one: time passes between two looks.
sim::Duration monitor_interval(double seconds) {
  constexpr const char* kExpected = "more than 0 seconds and at most 100 years";
  const auto got = [&] { return std::to_string(seconds); };
  if (std::isnan(seconds)) refuse("monitor-interval", kExpected, got());
  if (seconds <= 0) refuse("monitor-interval", kExpected, got(), "AssertionError");
  if (seconds > double{kSecondsMax}) refuse("monitor-interval", kExpected, got(), "OverflowError");
  const std::chrono::duration<double> span(seconds);
  return std::max(std::chrono::duration_cast<sim::Duration>(span), sim::Duration(1));
}

sim::Duration shutdown_timeout(sim::Ports& ports, const std::optional<std::int64_t>& given) {
  if (given) {
    if (*given < 0 || *given > kSecondsMax) {
      refuse("shutdown-timeout", "from 0 seconds to 100 years", std::to_string(*given));
    }
    return std::chrono::seconds(*given);
  }
  const auto& environment = ports.processes.environment();
  const auto variable = environment.find("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
  if (variable == environment.end()) return 30s;
  const auto seconds = python_int(variable->second);
  if (!seconds || *seconds > kSecondsMax) {
    throw RefusedOption(
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT: expected whole seconds of at most 100 years, got \"" +
        variable->second + "\"");
  }
  return std::chrono::seconds(std::max<std::int64_t>(*seconds, 0));  // no sign is refused here
}

/// run.py:run_script_path under errors/__init__.py:record, in a process of its own: what the script
/// raises goes to the error file, as of torch/multiprocessing/spawn.py:_wrap to no stream, and the
/// exit code is 1. sys.exit() and SIGINT have Python's own meaning; PyTorch waits for ever then.
constexpr const char* kRunScriptPath = R"(
import faulthandler, json, os, runpy, sys, time, traceback

def run_script_path(training_script, *training_script_args):
    sys.argv = [training_script] + [*training_script_args]
    runpy.run_path(sys.argv[0], run_name='__main__')

def wrapper(*args):
    try:
        faulthandler.enable(all_threads=True)
    except Exception:
        pass
    try:
        run_script_path(*args)
    except Exception as e:
        path = os.environ.get('TORCHELASTIC_ERROR_FILE')
        if path:
            extra = {'py_callstack': traceback.format_exc(), 'timestamp': str(int(time.time()))}
            message = {'message': f'{type(e).__name__}: {e}', 'extraInfo': extra}
            with open(path, 'w') as file:
                json.dump({'message': message}, file)
        sys.exit(1)

wrapper(*sys.argv[1:])
)";

std::vector<std::string> command(sim::Ports& ports, const TorchrunOptions& options) {
  std::vector<std::string> out;
  if (options.no_python && !options.run_path) {
    if (options.module) {
      throw RefusedOption("--no-python: expected no --module beside it, got one");
    }
  } else {
    const auto& environment = ports.processes.environment();
    const auto python = environment.find("PYTHON_EXEC");
    out.push_back(python == environment.end() ? "python3" : python->second);
    out.emplace_back("-u");
    if (options.run_path) {
      out.emplace_back("-c");
      out.emplace_back(kRunScriptPath);
    } else if (options.module) {
      out.emplace_back("-m");
    }
  }
  out.push_back(options.script);
  out.insert(out.end(), options.script_arguments.begin(), options.script_arguments.end());
  return out;
}

/// One node that says nothing of a rendezvous gets one of its own, on a free port.
/// As uuid.uuid4() draws it and str() writes it.
std::string drawn_uuid(sim::Random& random) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::string_view pattern = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
       const char c : pattern) {
    const std::size_t drawn = random.below("launch.run_id", kDigits.size());
    HOOKE_CHECK(drawn < kDigits.size(), "a digit that is drawn is one");
    out += c == 'x' ? kDigits[drawn] : c == 'y' ? kDigits[8 + drawn % 4] : c;
  }
  HOOKE_CHECK(out.size() == 36, "a UUID has 36 characters");
  return out;
}

void use_private_rendezvous(sim::Random& random, LaunchConfig& config) {
  config.rdzv_backend = "c10d";
  config.rdzv_endpoint = "localhost:0";
  config.run_id = drawn_uuid(random);
}

}  // namespace

ConfiguredLaunch configure_launch(sim::Ports& ports, const TorchrunOptions& options,
                                  std::int64_t cpus) {
  HOOKE_CHECK(cpus > 0, "a machine has a processor");
  ConfiguredLaunch out;
  LaunchConfig& config = out.config;
  config.variant = options.variant;
  config.run_id = options.rdzv_id;
  config.rdzv_backend = options.rdzv_backend;
  config.rdzv_endpoint = options.rdzv_endpoint;
  read_nodes(options.nnodes, config);
  if (options.max_restarts < 0) {
    refuse("max-restarts", "at least 0", std::to_string(options.max_restarts), "AssertionError");
  }
  const bool free_port = stands_alone_on_a_free_port(options.variant);
  if (options.standalone) {
    use_private_rendezvous(ports.random, config);
    if (!free_port) config.rdzv_endpoint = "localhost:29400";
  } else if (free_port && options.rdzv_backend == "static" && options.rdzv_endpoint.empty() &&
             !options.master_port && config.max_nodes == 1) {
    use_private_rendezvous(ports.random, config);
  }
  if (free_port && config.rdzv_backend != "static") {
    if (options.node_rank != 0) {
      out.notices.push_back("--node-rank is ignored: the backend \"" + config.rdzv_backend +
                            "\" assigns ranks itself");
    }
    if (config.rdzv_endpoint.empty()) {
      out.notices.emplace_back(
          "--master-addr is used by the static backend only; --rdzv-endpoint is empty");
    }
  }
  config.max_restarts = options.max_restarts;
  config.restart_policy = PluginChoice::parse(options.restart_policy);
  config.agent = PluginChoice::parse(options.agent_kind);
  config.timer = PluginChoice::parse(options.timer);
  config.process_launcher = PluginChoice::parse(options.process_launcher);
  config.shutdown = PluginChoice::parse(options.shutdown);
  config.monitor_interval = monitor_interval(options.monitor_interval);
  config.nproc_per_node = workers_per_node(ports, options.nproc_per_node, cpus);
  if (config.nproc_per_node > 1 && !ports.processes.environment().contains("OMP_NUM_THREADS")) {
    out.notices.emplace_back(
        "OMP_NUM_THREADS is set to 1 for each worker, so that the machine is not overloaded; set "
        "it yourself for best performance");
  }
  config.rdzv_configs = parse_rendezvous_configuration(options.rdzv_conf);
  config.rdzv_configs.try_emplace("timeout", "900");
  if (config.rdzv_backend == "static") {
    config.rdzv_configs["rank"] = std::to_string(options.node_rank);
    if (config.rdzv_endpoint.empty()) {
      config.rdzv_endpoint =
          options.master_addr + ":" + std::to_string(options.master_port.value_or(29500));
    }
  }
  config.local_addr = options.local_addr;
  config.role = options.role;
  config.virtual_local_rank = options.virtual_local_rank;
  config.event_log_handler = options.event_log_handler;
  config.logs = logs(ports, options);
  config.processors = processors(ports, options.numa_binding, config.nproc_per_node);
  config.signals_to_handle = signals(options.signals_to_handle, out.notices);
  config.shutdown_timeout = shutdown_timeout(ports, options.shutdown_timeout);
  config.command = command(ports, options);
  HOOKE_CHECK(0 < config.min_nodes && config.min_nodes <= config.max_nodes &&
                  config.nproc_per_node > 0 && config.max_restarts >= 0,
              "what was read is within its bounds");
  HOOKE_CHECK(
      !config.command.empty() && config.monitor_interval >= 0s && config.shutdown_timeout >= 0s,
      "what was read can be run");
  HOOKE_CHECK(config.processors.empty() || std::ssize(config.processors) == config.nproc_per_node,
              "each worker has processors of its own");
  return out;
}

}  // namespace hooke::model
