// Each run is a scenario like any other; a sink follows the joins and ends the run when all have
// their verdict.
#include "reports/latency_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/observe/trace_events.h"
#include "reports/quantile.h"
#include "reports/text.h"
#include "scenarios/outcome/verdict.h"
#include "scenarios/simulated/runner.h"
#include "sim/kernel/choice.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
using namespace std::chrono_literals;

using Report = std::function<void(const StudyProgress&)>;

/// Follows every node's first join; stops the run when all have ended.
class JoinWatch final : public kernel::TraceSink {
 public:
  /// `state`: what `report` is told, every so many events.
  JoinWatch(kernel::Kernel& kernel, StudyProgress state, const Report& report)
      : kernel_(kernel),
        started_(static_cast<std::size_t>(state.nodes)),
        state_(state),
        report_(report) {}

  void on_event(const sim::Event& event) override {
    constexpr std::uint64_t kEventsBetweenReports = 4096;
    if (report_ && ++events_ % kEventsBetweenReports == 0) {
      state_.now = event.at - sim::WorldTime{};
      report_(state_);
    }
    if (event.type == &ev::rendezvous_joining) {
      started_[event.node.value] = event.at;
      first_ = std::min(first_.value_or(event.at), event.at);
    } else if (event.type == &ev::rendezvous_cost) {
      attempts += static_cast<std::uint64_t>(event.field("attempts").number());
      conflicts += static_cast<std::uint64_t>(event.field("conflicts").number());
      bytes += static_cast<std::uint64_t>(event.field("bytes").number());
      if (event.field("round").number() >= 0) {
        latencies.push_back(event.at - started_[event.node.value]);
        whole = event.at - *first_;
        verdict();
      }
    } else if (event.type == &ev::rendezvous_failed) {
      ++failures;
      verdict();
    } else if (event.type == &ev::rendezvous_evicted) {
      ++evictions;
    }
  }

  std::vector<sim::Duration> latencies;
  std::uint64_t failures = 0;
  std::uint64_t attempts = 0, conflicts = 0, bytes = 0, evictions = 0;
  sim::Duration whole{};

 private:
  void verdict() {
    if (++state_.verdicts == started_.size()) kernel_.stop();
  }
  kernel::Kernel& kernel_;
  std::vector<sim::WorldTime> started_;
  std::optional<sim::WorldTime> first_;
  StudyProgress state_;
  const Report& report_;
  std::uint64_t events_ = 0;
};

scenario::Scenario join_scenario(const StudyPlan& plan, std::int64_t nodes, sim::Duration service,
                                 std::uint64_t seed) {
  scenario::Scenario out;
  out.name = fmt::format("join-{}", nodes);
  kernel::SeededSource source(seed);
  kernel::Stream starts(source, "study.start", 0);
  for (std::int64_t i = 1; i <= nodes; ++i) {
    scenario::NodePlan node;
    node.id = fmt::format("n{:06}", i);
    const auto spread = static_cast<std::uint64_t>(plan.start_spread.count());
    node.start = sim::Duration(static_cast<std::int64_t>(starts.below(spread + 1)));
    out.cluster.nodes.push_back(node);
  }
  out.cluster.store_host = out.cluster.nodes.front().id;
  out.cluster.service_time = service;
  if (plan.calibration) apply(*plan.calibration, out.cluster);
  if (plan.start_spread > sim::Duration::zero()) out.cluster.store_host.clear();
  out.protocol.rendezvous.join = plan.join_timeout;
  out.protocol.rendezvous.keep_alive_interval = plan.keep_alive;
  out.protocol.rendezvous.min_nodes = out.protocol.rendezvous.max_nodes = nodes;
  scenario::WorkerStep run;
  run.kind = scenario::WorkerStep::Kind::run;
  run.span = 1h;
  out.workers.program = {run};
  out.time_limit = plan.start_spread + plan.join_timeout + 100s;
  return out;
}

StudyPoint measure(kernel::Kernel& kernel, const StudyPlan& plan, std::int64_t nodes,
                   sim::Duration service, const Report& progress) {
  StudyPoint point;
  point.nodes = nodes;
  point.service = service;
  std::vector<sim::Duration> all;
  std::uint64_t attempts = 0, conflicts = 0, bytes = 0;
  const properties::InvariantRegistry none;
  // Where no agent gets in, another seed says the same, and such runs are long.
  for (std::int64_t seed = 1; seed <= plan.seeds && (seed == 1 || !all.empty()); ++seed) {
    ++point.seeds;
    scenario::RunOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    const scenario::Scenario scenario = join_scenario(plan, nodes, service, *options.seed);
    JoinWatch watch(kernel, {nodes, seed, 0, {}, scenario.time_limit}, progress);
    options.determinism_check = false;
    options.sinks = {&watch};
    options.steps_max = 0;
    options.wall_time_max = plan.real_time_max;
    const scenario::RunReport report = scenario::run(kernel, scenario, options, none);
    point.cut += report.end != kernel::RunEnd::stopped && !scenario::limit_reached(report).empty();
    point.wall += report.wall_time;
    all.insert(all.end(), watch.latencies.begin(), watch.latencies.end());
    point.failures += static_cast<std::uint64_t>(nodes) - watch.latencies.size();
    point.whole = std::max(point.whole, watch.whole);
    attempts += watch.attempts;
    conflicts += watch.conflicts;
    bytes += watch.bytes;
    point.evictions += watch.evictions;
  }
  std::sort(all.begin(), all.end());
  point.joins = all.size();
  point.p50 = quantile(all, 50);
  point.p99 = quantile(all, 99);
  point.last = all.empty() ? sim::Duration{} : all.back();
  point.wall /= point.seeds;
  const double tries = static_cast<double>(nodes * point.seeds);
  point.attempts_per_node = static_cast<double>(attempts) / tries;
  point.conflicts_per_node = static_cast<double>(conflicts) / tries;
  point.bytes_per_node = static_cast<double>(bytes) / tries;
  return point;
}

double in_seconds(sim::Duration span) {
  return std::chrono::duration<double>(span).count();
}

void print_row(const StudyPoint& point, std::ostream& table) {
  const auto span = [&](sim::Duration of_joins) {
    return point.joins == 0 ? "-" : short_time(of_joins);
  };
  table
      << fmt::format(
             "{:>6} {:>9} {:>7} {:>7} {:>9} {:>9} {:>9} {:>10.1f} {:>10.1f} {:>11} {:>8} {:>9}{}\n",
             point.nodes, short_time(point.service), point.joins, point.failures, span(point.p50),
             span(point.p99), span(point.last), point.attempts_per_node, point.conflicts_per_node,
             bytes_text(static_cast<std::uint64_t>(point.bytes_per_node)), point.evictions,
             short_time(point.wall), point.cut > 0 ? "  cut: --real-time-limit" : "")
      << std::flush;
}

double in_microseconds(sim::Duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

}  // namespace

Study run_study(const StudyPlan& plan, std::ostream& table,
                const std::function<void(const StudyProgress&)>& progress) {
  Study study;
  kernel::Kernel kernel;
  table << fmt::format(
      "{:>6} {:>9} {:>7} {:>7} {:>9} {:>9} {:>9} {:>10} {:>10} {:>11} {:>8} {:>9}\n", "nodes",
      "service", "joined", "failed", "p50", "p99", "last", "CAS/node", "lost/node", "bytes/node",
      "evicted", "real time");
  const std::vector<sim::Duration> services =
      plan.calibration ? std::vector{plan.calibration->service_time} : plan.service;
  for (const sim::Duration service : services) {
    for (const std::int64_t nodes : plan.nodes) {
      study.points.push_back(measure(kernel, plan, nodes, service, progress));
      print_row(study.points.back(), table);
    }
  }
  return study;
}

std::string study_json(const Study& study) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const StudyPoint& point : study.points) {
    const auto span = [&](sim::Duration of_joins) {
      return point.joins == 0 ? nlohmann::ordered_json(nullptr)
                              : nlohmann::ordered_json(of_joins.count());
    };
    out.push_back({{"nodes", point.nodes},
                   {"service_us", in_microseconds(point.service)},
                   {"seeds", point.seeds},
                   {"joins", point.joins},
                   {"failures", point.failures},
                   {"p50_ns", span(point.p50)},
                   {"p99_ns", span(point.p99)},
                   {"last_ns", span(point.last)},
                   {"whole_ns", span(point.whole)},
                   {"cut", point.cut},
                   {"attempts_per_node", point.attempts_per_node},
                   {"conflicts_per_node", point.conflicts_per_node},
                   {"bytes_per_node", point.bytes_per_node},
                   {"evictions", point.evictions},
                   {"wall_ns", point.wall.count()}});
  }
  return out.dump(2) + "\n";
}

std::string study_csv(const Study& study) {
  std::string out =
      "nodes,service_us,seeds,joins,failures,p50_s,p99_s,last_s,attempts_per_node,conflicts_per_"
      "node,bytes_per_node,"
      "evictions,wall_s,whole_s,cut\n";
  for (const StudyPoint& point : study.points) {
    const auto span = [&](sim::Duration of_joins) {
      return point.joins == 0 ? "" : fmt::format("{:.6f}", in_seconds(of_joins));
    };
    out += fmt::format("{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.0f},{},{:.3f},{},{}\n",
                       point.nodes, in_microseconds(point.service), point.seeds, point.joins,
                       point.failures, span(point.p50), span(point.p99), span(point.last),
                       point.attempts_per_node, point.conflicts_per_node, point.bytes_per_node,
                       point.evictions, std::chrono::duration<double>(point.wall).count(),
                       span(point.whole), point.cut);
  }
  return out;
}

}  // namespace hooke::report
