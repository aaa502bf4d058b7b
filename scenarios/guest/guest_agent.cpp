// The requests of PyTorch's modules (python/), each to the part that serves it.
#include "scenarios/guest/guest_agent.h"

#include <algorithm>
#include <stdexcept>

#include "model/observe/background_tasks.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/guest/agent_watch.h"
#include "scenarios/guest/guest_stores.h"

namespace hooke::scenario {
namespace {

using guest::Message;

constexpr std::string_view kStorePrefix = "store.";

/// What a fault has the agent raise: the guest raises it, by the class of that name.
struct RaisedInPython {
  std::string error;
};

[[noreturn]] void raise_in_python(std::string_view error) {
  throw RaisedInPython{std::string(error)};
}

class AgentServices final : public guest::Services {
 public:
  AgentServices(sim::Ports& ports, const model::LaunchConfig& config)
      : ports_(ports),
        watch_(ports, config),
        stores_(ports, config.variant, [this](const StoreCall& call) { watch_.on_store(call); }) {
    ports.fault_point.raise_by(&raise_in_python);
  }

  Message request(const std::string& name, const Message& arguments) override {
    if (name.starts_with(kStorePrefix)) {
      return stores_.request(name.substr(kStorePrefix.size()), arguments);
    }
    if (name == "jitter") {
      const sim::Duration low(arguments.at(0).number());
      const sim::Duration high(arguments.at(1).number());
      if (low > high) throw guest::GuestError("the guest draws from an empty range");
      return ports_.random.between("rendezvous.jitter", low, high).count();
    }
    if (name == "state") {
      const auto state =
          ports_.processes.state(sim::Pid{static_cast<std::int32_t>(arguments.at(0).number())});
      return state ? Message(std::string(1, *state)) : Message();
    }
    if (name == "fault_point") return reach(arguments.at(0).text());
    throw guest::GuestError("the guest made an unknown request, " + name);
  }

  void note(const std::string& name, const Message& arguments) override {
    if (name == "store.close") {
      stores_.close(arguments.at(0).number());
    } else if (name == "agent.failure") {
      watch_.on_failure(arguments.at(0).number(), arguments.at(1).number(),
                        arguments.at(2).number());
    } else if (name == "agent.join_failed") {
      watch_.on_join_failed(arguments.at(0).text(), arguments.at(1).text());
    } else if (name == "agent.signalled") {
      watch_.on_own_signal(arguments.at(0).number(), arguments.at(1).text());
    } else if (name == "agent.barrier_failed") {
      watch_.on_barrier_failed(arguments.at(0).text());
    } else if (name == "agent.ranks") {
      watch_.on_ranks(arguments.at(0).number(), arguments.at(1).number());
    } else if (name == "agent.timer") {
      watch_.timers().on_told(arguments);
    } else if (name == "agent.ended") {
      watch_.on_ended(arguments.at(0).text(), arguments.at(1).text(), arguments.at(2).number(),
                      arguments.at(3).number());
    } else {
      throw guest::GuestError("the guest made an unknown note, " + name);
    }
  }

  void on_line(std::string_view line) override { watch_.on_line(line); }
  void on_spawned(sim::Pid child, const sim::SpawnRequest& request) override {
    watch_.on_spawned(child, request);
  }
  void on_signalled(sim::Pid target, sim::Signal signal, bool) override {
    watch_.on_signalled(target, signal);
  }
  void on_reaped(sim::Pid child, int status) override { watch_.on_reaped(child, status); }
  void on_signal(sim::Signal) override {}
  [[nodiscard]] std::string fiber_of(const std::string& thread) const override {
    const std::string_view task = task_of(thread);
    return task.empty() ? Services::fiber_of(thread) : std::string(task);
  }

 private:
  /// The class of the error that the guest is to raise there; "" when there is none.
  std::string reach(const std::string& name) {
    const std::span<const std::string_view> points = fault_points_of_torchrun();
    const auto point = std::find(points.begin(), points.end(), std::string_view(name));
    if (point == points.end()) throw guest::GuestError("the guest is at an unknown place, " + name);
    try {
      ports_.fault_point.reach(*point);
    } catch (const RaisedInPython& raised) {
      return raised.error;
    }
    return {};
  }

  sim::Ports& ports_;
  AgentWatch watch_;
  GuestStores stores_;
};

/// "600" of "600s": PyTorch takes whole seconds.
std::string whole_seconds(const std::string& key, const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == text.size() - 1;
  if (digits && text.back() == 's') return text.substr(0, text.size() - 1);
  if (text.find_first_not_of("0123456789") == std::string::npos) return text;
  throw std::invalid_argument(key + ": torchrun takes whole seconds, not \"" + text + "\"");
}

constexpr std::int64_t kPerSecond = 1'000'000'000;

std::string seconds(sim::Duration span) {
  std::string fraction = std::to_string(span.count() % kPerSecond);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(span.count() / kPerSecond) + "." + fraction;
}

}  // namespace

std::string_view task_of(std::string_view thread) {
  // DynamicRendezvousHandler._start_heartbeats and FileTimerServer.start; a thread without a name
  // is called by its function.
  if (thread.starts_with("RendezvousKeepAliveTimer_")) return model::tasks::kKeepAlive;
  if (thread.find("_watchdog_loop") != std::string_view::npos) return model::tasks::kWatchdog;
  return {};
}

std::vector<std::string> torchrun_arguments(const model::LaunchConfig& config) {
  std::string configuration;
  for (const auto& [key, value] : config.rdzv_configs) {
    const bool number = key != "is_host" && key != "store_type";
    configuration += (configuration.empty() ? "" : ",") + key + "=" +
                     (number ? whole_seconds(key, value) : value);
  }
  std::vector<std::string> out{
      "--nnodes=" + std::to_string(config.min_nodes) + ":" + std::to_string(config.max_nodes),
      "--nproc_per_node=" + std::to_string(config.nproc_per_node),
      "--max_restarts=" + std::to_string(config.max_restarts),
      "--monitor_interval=" + seconds(config.monitor_interval),
      "--rdzv_backend=" + config.rdzv_backend,
      "--rdzv_endpoint=" + config.rdzv_endpoint,
      "--rdzv_id=" + config.run_id,
      "--rdzv_conf=" + configuration,
      "--no_python"};
  if (!config.local_addr.empty()) out.insert(out.end() - 1, "--local_addr=" + config.local_addr);
  const bool has_a_grace = model::has_a_shutdown_timeout(config.variant);
  if (has_a_grace && config.shutdown_timeout != model::LaunchConfig().shutdown_timeout) {
    if (config.shutdown_timeout % std::chrono::seconds(1) != sim::Duration::zero())
      throw std::invalid_argument("shutdown_timeout: torchrun takes whole seconds");
    out.insert(out.end() - 1, "--shutdown_timeout=" +
                                  std::to_string(config.shutdown_timeout.count() / kPerSecond));
  }
  out.insert(out.end(), config.command.begin(), config.command.end());
  return out;
}

int run_guest_agent(sim::Ports& ports, guest::Zygote& zygote, const model::LaunchConfig& config,
                    const std::string& directory) {
  Message::List arguments;
  for (const std::string& argument : torchrun_arguments(config)) arguments.emplace_back(argument);
  AgentServices services(ports, config);
  guest::GuestOptions options;
  // torchrun has no flag for the exit barrier's time-out: an argument of the agent's constructor.
  options.config =
      Message::List{Message(std::move(arguments)), config.exit_barrier_timeout.count()};
  options.directory = directory;
  return guest::run_guest(ports, zygote, services, options);
}

}  // namespace hooke::scenario
