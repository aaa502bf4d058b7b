// The harness is one real process of its own: a fiber that starts, watches and disturbs.
#include "scenarios/real/real_runner.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "properties/invariants/invariant_set.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/outcome/outcomes.h"
#include "scenarios/outcome/verdict.h"
#include "scenarios/real/real_timeline.h"
#include "scenarios/real/unsupported.h"
#include "sim/real/process_tree.h"
#include "sim/real/real_process.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLook = 20ms;
/// Events are told this long after they happened: until then an earlier one may still come in.
constexpr Duration kDelay = 200ms;
/// What is still to come when all agents are over: workers that lose their agent last.
constexpr Duration kSettling = 800ms;

/// Of torchrun agents only what their workers, their log and their end show.
constexpr std::array<std::string_view, 13> kJudgedOfTorchrun{"safety.one_world",
                                                             "safety.rank_sanity",
                                                             "safety.round_monotonic",
                                                             "safety.round_isolation",
                                                             "safety.bounds",
                                                             "safety.bootstrap",
                                                             "safety.close_authority",
                                                             "safety.no_orphans",
                                                             "safety.exit_code_truth",
                                                             "liveness.exit",
                                                             "liveness.formation",
                                                             "liveness.no_livelock",
                                                             "liveness.signals_take_effect"};

/// A directory of its own, gone with the object unless somebody needs to look into it.
class Directory {
 public:
  Directory() {
    std::string pattern = (fs::temp_directory_path() / "hooke-cluster-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("no directory for the cluster");
    path_ = pattern;
  }
  ~Directory() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

std::vector<std::string> names_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const NodePlan& node : scenario.cluster.nodes) names.push_back(node.id);
  names.emplace_back(kStoreMachine);
  return names;
}

class Performance {
 public:
  Performance(sim::Ports& ports, const Scenario& scenario, const RealOptions& options,
              const std::string& directory, const properties::InvariantRegistry& invariants)
      : ports_(ports),
        scenario_(scenario),
        options_(options),
        node_names_(names_of(scenario)),
        begin_(now()),
        outcomes_(node_names_, scenario.expect),
        judges_(invariants),
        merger_(options.program.kind, scenario, node_names_, begin_),
        cluster_(ports, scenario, options.program, directory, node_names_, merger_),
        timeline_(ports, cluster_, scenario, roster_, node_names_, begin_) {
    for (kernel::TraceSink* const sink :
         std::initializer_list<kernel::TraceSink*>{&roster_, &outcomes_, &timeline_, &judges_}) {
      merger_.add_sink(*sink);
    }
    for (kernel::TraceSink* const sink : options.sinks) merger_.add_sink(*sink);
  }

  void run(RunReport& report) {
    if (cluster_.store_is_external()) cluster_.start_store();
    const sim::WorldTime limit = begin_ + std::min(options_.time_max, scenario_.time_limit);
    // Over when nothing has been going on for a while; the end was at the beginning of that.
    sim::WorldTime busy = now();
    while (now() - busy <= kSettling && now() < limit) {
      ports_.executor.sleep_until(ports_.clock.monotonic_now() + kLook);
      // What is written while it looks may come before what it has read.
      const sim::WorldTime looked = now();
      cluster_.look();
      merger_.tell(looked - kDelay);
      // What is started now tells of itself only later.
      const bool had_plans = !timeline_.idle();
      timeline_.act(now());
      const bool owed = now() - begin_ - kDelay < judges_.owed_until().time_since_epoch();
      if (had_plans || !timeline_.idle() || !outcomes_.all_over() || owed) busy = now();
    }
    cluster_.look();
    merger_.tell(now());
    const bool all_over = outcomes_.all_over();
    const bool own_limit = options_.time_max < scenario_.time_limit;
    report.end = all_over    ? kernel::RunEnd::stopped
                 : own_limit ? kernel::RunEnd::wall_time_exhausted
                             : kernel::RunEnd::world_time_exhausted;
    report.world_time = now() - begin_;
    report.wall_time = report.world_time;
    report.agents = outcomes_.agents();
    report.jobs = jobs_of(report.agents);
    report.faults = timeline_.done();
    report.never_happened = timeline_.never_happened(sim::WorldTime(report.world_time));
    report.coverage = outcomes_.coverage();
    report.met = outcomes_.met();
    report.nearest = outcomes_.nearest();
    report.sums = outcomes_.sums();
    report.rounds = outcomes_.rounds();
    report.events = merger_.event_count();
    report.judged_at = sim::WorldTime(busy - begin_);
    report.violations = judges_.finish({report.judged_at, all_over, outcomes_.last_fault()});
    report.accounts = judges_.accounts();
    std::erase_if(report.violations, [&](const properties::Violation& violation) {
      return !is_judged(options_.program.kind, violation.invariant);
    });
    judge(what_can_be_judged(), all_over, report);
  }

 private:
  [[nodiscard]] sim::WorldTime now() const {
    return sim::WorldTime(ports_.clock.monotonic_now().time_since_epoch());
  }
  /// The scenario without the expectations that no agent here could see come true.
  [[nodiscard]] Scenario what_can_be_judged() const {
    Scenario out = scenario_;
    std::erase_if(out.expect.violates,
                  [&](const std::string& id) { return !is_judged(options_.program.kind, id); });
    // Marks and most events are set where the protocol's code is, and that is not this code.
    if (options_.program.kind == AgentKind::torchrun) {
      out.expect.coverage.clear();
      out.expect.events.clear();
      out.expect.sums.clear();
    }
    return out;
  }

  sim::Ports& ports_;
  const Scenario& scenario_;
  const RealOptions& options_;
  std::vector<std::string> node_names_;
  sim::WorldTime begin_;
  Roster roster_;
  Outcomes outcomes_;
  properties::InvariantSet judges_;
  TraceMerger merger_;
  RealCluster cluster_;
  RealTimeline timeline_;
};

}  // namespace

bool is_judged(AgentKind kind, const std::string& invariant) {
  if (kind == AgentKind::hooke) return true;
  return std::find(kJudgedOfTorchrun.begin(), kJudgedOfTorchrun.end(), invariant) !=
         kJudgedOfTorchrun.end();
}

RunReport run_real(const Scenario& scenario, const RealOptions& options,
                   const properties::InvariantRegistry& invariants) {
  RunReport report;
  report.name = scenario.name;
  report.seed = scenario.seed;
  if (const auto missing = unsupported(scenario, options.program.kind); !missing.empty()) {
    for (const std::string& what : missing) {
      report.unsupported += (report.unsupported.empty() ? "" : ", ") + what;
    }
    return report;
  }
  Directory directory;
  real::adopt_orphans();
  {
    const real::OrphanKiller orphan_killer(std::string(kClusterVariable) + "=" + directory.path());
    real::RealProcess process({"hooke"});
    try {
      process.run([&](sim::Ports& ports) {
        Performance performance(ports, scenario, options, directory.path(), invariants);
        performance.run(report);
        return 0;
      });
    } catch (const std::exception& error) {
      report.harness_failure = error.what();
    }
  }
  if (!report.passed && !scenario.canary) {
    directory.keep();
    report.logs = directory.path();
  }
  return report;
}

}  // namespace hooke::scenario
