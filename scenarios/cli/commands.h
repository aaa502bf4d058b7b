#pragma once
// The subcommands of hooke. Each adds itself to the application and, when chosen, sets the exit
// code.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hooke::hunt {
struct Exploration;
}

namespace hooke::cli {

/// As in CMakeLists.txt; properties/structure/the_program_is_packaged compares the two.
inline constexpr const char* kVersion = "0.1.0";

/// Exit codes of every command.
inline constexpr int kAllHeld = 0;
inline constexpr int kSomethingFell = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kHarnessFailed = 3;  ///< and what a limit of the harness left inconclusive

/// hooke run FILE|DIRECTORY…: replays scenarios.
void add_run(CLI::App& app, int& exit_code);
/// hooke explore: plays random worlds.
void add_explore(CLI::App& app, int& exit_code);
/// hooke sweep: plays a scenario with every fault at every event.
void add_sweep(CLI::App& app, int& exit_code);
/// hooke mix: plays scenarios with every choice of hardened agents.
void add_mix(CLI::App& app, int& exit_code);
/// hooke report: puts together what parts of an exploration have seen.
void add_report(CLI::App& app, int& exit_code);
/// hooke shrink FILE: makes the scenario of a failure small.
void add_shrink(CLI::App& app, int& exit_code);
/// hooke explain FILE: tells why a scenario fails, and what would avert it.
void add_explain(CLI::App& app, int& exit_code);
/// hooke judge TRACE…: judges what happened for real. hooke view TRACE…: draws it.
void add_judge(CLI::App& app, int& exit_code);
/// hooke help NAME: what a command or a name means.
void add_help(CLI::App& app, int& exit_code);
/// hooke list: invariants, faults, events and the like by name.
void add_list(CLI::App& app, int& exit_code);
/// The names of that kind ("invariants", or "all"), in hooke list's order.
std::vector<std::string> listed_names(const std::string& kind);
/// hooke schema: prints the JSON Schema of scenario files.
void add_schema(CLI::App& app, int& exit_code);
/// hooke bench rendezvous: latency of a rendezvous against the number of nodes.
void add_bench(CLI::App& app, int& exit_code);
/// hooke bench store: requests per second of a live store.
void add_bench_store(CLI::App& bench, int& exit_code);
/// hooke bench node: nodes of a measured rendezvous; for reports/bench/agents and live.
void add_bench_node(CLI::App& bench, int& exit_code);
/// hooke calibrate ENDPOINT: measures a live store for simulations of it.
void add_calibrate(CLI::App& app, int& exit_code);
/// hooke plan: how much of its time a job trains, and what to set.
void add_plan(CLI::App& app, int& exit_code);
/// hooke agent [OPTIONS] SCRIPT…: runs a script as torchrun does.
void add_agent(CLI::App& app, int& exit_code);
/// hooke worker: plays the worker of a scenario; for agents of a real cluster.
void add_worker(CLI::App& app, int& exit_code);
/// hooke store: serves a TCPStore.
void add_store(CLI::App& app, int& exit_code);
/// hooke timer-server: ends workers whose deadlines have passed.
void add_timer_server(CLI::App& app, int& exit_code);
/// hooke worker-pool: starts workers for agents that lease them.
void add_worker_pool(CLI::App& app, int& exit_code);
/// hooke state: shows the live rendezvous of a job.
void add_state(CLI::App& app, int& exit_code);

/// hooke completion SHELL: prints what a shell needs to complete command lines.
void add_completion(CLI::App& app, int& exit_code);
/// hooke man [COMMAND…]: prints manual pages.
void add_man(CLI::App& app, int& exit_code);

/// Of explore, and of report for what several of them have seen.
int exit_code_of(const hunt::Exploration& exploration);

}  // namespace hooke::cli
