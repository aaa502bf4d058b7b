// hooke worker: the worker of a scenario as a real process. Started by agents of a real cluster,
// not by people.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/observer.h"
#include "model/store/kinds/tcp_stores.h"
#include "reports/trace_file.h"
#include "scenarios/cli/commands.h"
#include "scenarios/format/loader.h"
#include "scenarios/real/real_cluster.h"
#include "scenarios/recorded/worker_events.h"
#include "scenarios/simulated/cluster.h"
#include "scenarios/simulated/worker_program.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr sim::Duration kStoreTimeout = 3s;
constexpr sim::Duration kLook = 10ms;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
  return value;
}

std::int64_t number(const char* name) {
  return std::stoll(variable(name));
}

/// Opens "worker-<node>-<local rank>-<incarnation>.jsonl", the first that is not there yet, and
/// with it takes that incarnation.
std::ofstream open_trace(const std::string& cluster, const std::string& worker,
                         std::int64_t& count) {
  for (count = 0;; ++count) {
    const std::string path = cluster + "/worker-" + worker + "-" + std::to_string(count) + ".jsonl";
    if (std::FILE* const file = std::fopen(path.c_str(), "wx")) {
      std::fclose(file);
      std::ofstream out(path);
      out << std::unitbuf;
      return out;
    }
    if (!fs::exists(path)) throw std::runtime_error(path + ": cannot be written");
  }
}

/// The rendezvous' round as its store has it now, past all links; -1 when it does not say.
std::int64_t current_round(sim::Ports& ports, model::Variant variant) {
  try {
    model::TcpStoreOptions options;
    options.endpoint = model::parse_endpoint(variable(scenario::kStoreVariable), 0);
    options.timeout = kStoreTimeout;
    options.variant = variant;
    const auto store = model::connect_tcp_store(ports, options);
    const auto view = model::observe_c10d(*store, variable("TORCHELASTIC_RUN_ID"));
    return view && view->state ? view->state->round : -1;
  } catch (const model::StoreError&) {
    return -1;
  } catch (const model::RendezvousError&) {
    return -1;
  }
}

/// Ends the process when the cluster orders it to.
void obey(sim::Ports& ports, const std::string& cluster) {
  const std::string order = cluster + "/order-" + std::to_string(ports.processes.self().value);
  ports.executor.spawn("orders", [&ports, order] {
    for (;;) {
      if (const auto text = ports.files.read(order)) {
        const int code = std::stoi(text.value().substr(text.value().find(' ') + 1));
        ports.trace.emit(scenario::events::worker_exits, {code});
        std::_Exit(code);
      }
      ports.executor.sleep_until(ports.clock.monotonic_now() + kLook);
    }
  });
}

model::Variant variant_on(const scenario::Scenario& plan, const std::string& node) {
  for (const scenario::NodePlan& each : plan.cluster.nodes) {
    if (each.id == node) return plan.variant_of(each);
  }
  return plan.protocol.variant;
}

int run_worker() {
  const std::string cluster = variable(scenario::kClusterVariable);
  const std::string node = variable(scenario::kNodeVariable);
  const std::int64_t local_rank = number("LOCAL_RANK");
  const scenario::Scenario plan = scenario::load_scenario_file(cluster + "/scenario.json");
  const model::Variant variant = variant_on(plan, node);
  std::int64_t incarnation = 0;
  std::ofstream trace_file =
      open_trace(cluster, node + "-" + std::to_string(local_rank), incarnation);
  report::TraceFile trace(trace_file, {node});
  real::RealProcess process({"hooke"});
  process.add_sink(trace);
  return process.run([&](sim::Ports& ports) {
    const std::int64_t round = current_round(ports, variant);
    ports.trace.emit(scenario::events::worker_reported,
                     {std::int64_t{getppid()}, local_rank, number("RANK"), number("WORLD_SIZE"),
                      variable("GROUP_RANK") + "/" + variable("GROUP_WORLD_SIZE"),
                      number("TORCHELASTIC_RESTART_COUNT"), round,
                      variable("MASTER_ADDR") + ":" + variable("MASTER_PORT")});
    obey(ports, cluster);
    scenario::WorkerConditions conditions;
    conditions.job.backend = "c10d";
    conditions.job.endpoint = variable(scenario::kStoreVariable);
    conditions.program = scenario::program_of(plan.workers, node, local_rank, incarnation);
    conditions.peer_abort = plan.workers.peer_abort;
    conditions.variant = variant;
    conditions.timers = model::TimerRegistry::with_builtins().create(
        model::PluginChoice::parse(plan.protocol.agent.timer));
    conditions.round = [round] { return round; };
    conditions.trace_store = plan.workers.trace_store;
    const int code = scenario::WorkerRun(ports, std::move(conditions)).run();
    ports.trace.emit(scenario::events::worker_exits, {code});
    return code;
  });
}

}  // namespace

void add_worker(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "worker", "Run the worker of a scenario as a real process; agents start it");
  command->group("");  // agents call it
  command->callback([&exit_code] {
    try {
      exit_code = run_worker();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "hooke worker: %s\n", error.what());
      exit_code = kBadInput;
    }
  });
}

}  // namespace hooke::cli
