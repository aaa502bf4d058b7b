// hooke plan: how much of its time a job trains, and what to set.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <memory>

#include "model/variant/variant.h"
#include "reports/plan/plan_text.h"
#include "reports/text.h"
#include "scenarios/cli/calibration_file.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/real_time_limit.h"
#include "scenarios/cli/status_line.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/format/duration.h"

namespace hooke::cli {
namespace {

struct PlanFlags {
  report::JobPlan plan;
  report::PlanOptions how;
  std::optional<sim::Duration> mtbf, node_mtbf;
  std::string variant = "torch-2.x";
  bool json = false;
};

/// As scenarios have it, and days: "30d".
sim::Duration span_from(const std::string& flag, const std::string& text, sim::Duration least) {
  constexpr std::int64_t kHours = 24;
  const bool days = text.ends_with('d');
  std::optional<sim::Duration> span =
      scenario::parse_duration(days ? text.substr(0, text.size() - 1) + "h" : text);
  constexpr sim::Duration kMost = std::chrono::hours(24 * 3650);
  if (span && days) span = *span <= kMost ? *span * kHours : kMost + sim::Duration(1);
  if (span && *span >= least && *span <= kMost) return *span;
  throw CLI::ValidationError(
      flag, "expected a duration with a unit, such as \"90s\" or \"5h\", of at least " +
                scenario::duration_text(least) + " and at most 3650d, got \"" + text + "\"");
}

constexpr sim::Duration kSome = std::chrono::milliseconds(1);  ///< something is divided by it
constexpr sim::Duration kNone{};

template <class Set>
CLI::Option* add_span(CLI::App& command, const std::string& flag, sim::Duration least,
                      const std::string& help, Set set) {
  const auto read = [flag, set, least](const std::string& text) {
    set(span_from(flag, text, least));
  };
  return command.add_option_function<std::string>(flag, read, help)->type_name("DURATION");
}

/// A flag whose value, unless it is given, is the one that JobPlan has.
struct SpanFlag {
  const char* name;
  sim::Duration report::JobPlan::*span;
  sim::Duration least;
  const char* help;
};

void add_spans(CLI::App& command, PlanFlags& options, std::initializer_list<SpanFlag> flags,
               const char* group) {
  for (const SpanFlag& flag : flags) {
    sim::Duration& place = options.plan.*flag.span;
    const auto set = [&place](sim::Duration span) { place = span; };
    add_span(command, flag.name, flag.least, flag.help, set)
        ->default_str(scenario::duration_text(place))
        ->group(group);
  }
}

void finish_plan(PlanFlags& options) {
  report::JobPlan& plan = options.plan;
  if (options.mtbf.has_value() == options.node_mtbf.has_value()) {
    throw CLI::ValidationError("expected either --mtbf or --node-mtbf, got " +
                               std::string(options.mtbf ? "both" : "neither"));
  }
  plan.node_failures = options.mtbf ? *options.mtbf : *options.node_mtbf / plan.nodes;
  if (plan.node_failures < sim::Duration(1'000'000)) {
    throw CLI::ValidationError("--node-mtbf",
                               "expected failures at least 1ms apart in the whole job");
  }
  if (plan.min_nodes == 0) plan.min_nodes = plan.nodes;
  if (plan.min_nodes > plan.nodes) {
    throw CLI::ValidationError("--min-nodes", "expected at most --nodes, " +
                                                  std::to_string(plan.nodes) + ", got " +
                                                  std::to_string(plan.min_nodes));
  }
  if (plan.backend == "static" && plan.spares + plan.nodes - plan.min_nodes > 0) {
    throw CLI::ValidationError("--backend",
                               "a static rendezvous has neither spares nor fewer nodes");
  }
  if (plan.backend == "static" && plan.store_apart) {
    throw CLI::ValidationError("--external-store", "a static rendezvous has its store on node 0");
  }
  if (plan.backend.starts_with("etcd")) plan.store_apart = true;
  plan.variant = *model::variant_from(options.variant);
}

/// "2 settings played; a start of 2,000 nodes is at 12.500s of virtual time, at most 14s left".
std::string progress_text(const report::EpisodeProgress& so_far, std::size_t played) {
  std::string out =
      std::to_string(played) + " settings played; " +
      (so_far.kind == report::EpisodeKind::start ? "a start of " : "a failure among ") +
      report::grouped(static_cast<std::uint64_t>(so_far.nodes)) + " nodes is at " +
      report::short_time(so_far.now) + " of virtual time";
  if (so_far.kind != report::EpisodeKind::start) return out;
  const auto left = std::max(so_far.real_max - so_far.real, std::chrono::nanoseconds(0));
  return out + ", at most " +
         std::to_string(std::chrono::ceil<std::chrono::seconds>(left).count()) + "s left for it";
}

int run(PlanFlags& options) {
  finish_plan(options);
  StatusLine line;
  std::size_t played = 0;
  options.how.simulation.progress = [&](const report::EpisodeProgress& so_far) {
    line.show([&] { return progress_text(so_far, played); });
  };
  const report::PlanResult result = report::make_plan(
      options.plan, options.how, [&](std::size_t settings) { played = settings; });
  line.clear();
  if (options.json) {
    std::cout << report::plan_json(result, options.how).dump(2) << '\n';
  } else {
    std::cout << report::plan_text(result, options.how, style_of_terminal());
  }
  return kAllHeld;
}

void add_cluster(CLI::App& command, PlanFlags& options) {
  constexpr const char* kGroup = "The cluster";
  report::JobPlan& plan = options.plan;
  command.add_option("--nodes", plan.nodes, "Nodes that train")
      ->required()
      ->check(CLI::Range(1, 100'000))
      ->group(kGroup);
  command.add_option("--spares", plan.spares, "Further nodes whose agents run")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str()
      ->group(kGroup);
  add_span(command, "--mtbf", kSome, "Mean time between two losses of a node of the job",
           [&](sim::Duration span) { options.mtbf = span; })
      ->group(kGroup);
  add_span(command, "--node-mtbf", kSome,
           "Instead: mean time between two losses of one and the same node",
           [&](sim::Duration span) { options.node_mtbf = span; })
      ->group(kGroup);
  add_span(command, "--worker-mtbf", kSome,
           "Mean time between two failures of workers that cost no node (none unless given)",
           [&](sim::Duration span) { plan.worker_failures = span; })
      ->group(kGroup);
  add_spans(command, options,
            {{"--repair", &report::JobPlan::repair, kNone, "Until a node that was lost is back"}},
            kGroup);
  add_calibration(command, plan.calibration)->group(kGroup);
}

void add_job(CLI::App& command, PlanFlags& options) {
  using Plan = report::JobPlan;
  add_spans(
      command, options,
      {{"--checkpoint", &Plan::checkpoint, kSome, "Training between two checkpoints"},
       {"--save", &Plan::save, kNone, "For how long saving one keeps the workers from training"},
       {"--load", &Plan::load, kNone,
        "From a worker's start until it trains: imports, loading the checkpoint"},
       {"--peer-timeout", &Plan::peer_timeout, kNone,
        "For how long a collective waits for a lost peer (NCCL: 10m)"},
       {"--relaunch", &Plan::relaunch, kNone,
        "Until a job that has ended, or hangs, is started anew"}},
      "The job");
}

void add_agents(CLI::App& command, PlanFlags& options) {
  constexpr const char* kGroup = "Its agents";
  using Plan = report::JobPlan;
  Plan& plan = options.plan;
  command
      .add_option("--min-nodes", plan.min_nodes, "With fewer the job waits (as many as --nodes)")
      ->check(CLI::Range(1, 100'000))
      ->group(kGroup);
  command.add_option("--max-restarts", plan.max_restarts, "As torchrun's")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--backend", plan.backend, "Rendezvous backend")
      ->check(CLI::IsMember({"c10d", "etcd-v2", "etcd-v3", "etcd", "static"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--external-store", plan.store_apart,
                "The store is on a machine of its own, as etcd always is")
      ->group(kGroup);
  command.add_option("--variant", options.variant, "What the agents speak")
      ->check(CLI::IsMember(model::variant_names()))
      ->capture_default_str()
      ->group(kGroup);
  add_spans(command, options,
            {{"--join", &Plan::join, kNone, "join_timeout of --rdzv-conf"},
             {"--last-call", &Plan::last_call, kNone, "last_call_timeout of --rdzv-conf"},
             {"--keep-alive", &Plan::keep_alive, kSome, "keep_alive_interval of --rdzv-conf"},
             {"--monitor", &Plan::monitor, kSome, "--monitor-interval of torchrun"}},
            kGroup);
}

void add_method(CLI::App& command, PlanFlags& options) {
  report::PlanOptions& how = options.how;
  add_span(command, "--for", std::chrono::hours(1), "How long the job runs",
           [&](sim::Duration span) { how.length = span; })
      ->default_str("30d");
  command
      .add_option("--episodes", how.simulation.episodes, "How often each kind of failure is played")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command
      .add_option("--simulated-nodes", how.simulation.nodes_max,
                  "With how many nodes at most; one start of all is played besides")
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  command.add_option("--seed", how.simulation.seed, "Seed of all draws")->capture_default_str();
  command
      .add_option_function<std::string>(
          "--real-time-limit",
          [&](const std::string& text) { how.simulation.start_of_all_max = real_time_from(text); },
          "Real time that a start of all nodes may take: there are two, the second with hardened "
          "agents")
      ->type_name("DURATION")
      ->default_str("20s");
  command.add_flag("--json", options.json, "Print the plan as JSON");
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand(
      "plan", "Say how much of its time a job trains, where the rest goes, and what to set");
  add_cluster(*command, *options);
  add_job(*command, *options);
  add_agents(*command, *options);
  add_method(*command, *options);
  command->footer(
      "Each kind of failure is played by the protocol itself; weeks of the job are then drawn as "
      "calm between such failures.\n"
      "Examples:\n"
      "  hooke plan --nodes 256 --spares 4 --mtbf 5h --checkpoint 15m --join 600s --last-call "
      "30s\n"
      "  hooke plan --nodes 64 --min-nodes 60 --node-mtbf 90d --save 40s --json\n"
      "Exit codes: 0; 2 bad usage; 3 the harness failed.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace hooke::cli
