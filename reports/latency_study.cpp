// Each run is a scenario like any other, which JoinWatch follows.
#include "reports/latency_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reports/join_watch.h"
#include "reports/quantile.h"
#include "reports/text.h"
#include "scenarios/outcome/verdict.h"
#include "scenarios/simulated/runner.h"
#include "sim/kernel/choice.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;

/// The machines that are lost, and when.
using Losses = std::map<std::size_t, sim::Duration>;

/// Not the first node's, which may serve the store (static).
Losses draw_losses(const StudyPlan& plan, std::int64_t nodes, kernel::SeededSource& source) {
  Losses out;
  kernel::Stream losses(source, "study.loss", 0);
  const auto span = static_cast<std::uint64_t>((plan.start_spread + 1s).count());
  while (static_cast<std::int64_t>(out.size()) < std::min(plan.lost, nodes - 1)) {
    const auto node = 1 + losses.below(static_cast<std::uint64_t>(nodes - 1));
    const auto at = sim::Duration(static_cast<std::int64_t>(losses.below(span)));
    out.try_emplace(static_cast<std::size_t>(node), at);
  }
  return out;
}

scenario::ClusterPlan cluster_of(const StudyPlan& plan, const StudyPoint& point,
                                 kernel::SeededSource& source) {
  scenario::ClusterPlan out;
  kernel::Stream starts(source, "study.start", 0);
  for (std::int64_t i = 1; i <= point.nodes; ++i) {
    scenario::NodePlan node;
    node.id = fmt::format("n{:06}", i);
    const auto spread = static_cast<std::uint64_t>(plan.start_spread.count());
    node.start = sim::Duration(static_cast<std::int64_t>(starts.below(spread + 1)));
    out.nodes.push_back(node);
  }
  // Elsewhere than on its first node only where that may come late, or be lost, or serves no etcd.
  const bool is_first = plan.start_spread == sim::Duration::zero() && point.lost == 0;
  if (point.backend == "static" || (point.backend == "c10d" && is_first))
    out.store_host = out.nodes.front().id;
  out.service_time = point.service;
  if (plan.calibration) apply(*plan.calibration, out);
  return out;
}

scenario::Scenario join_scenario(const StudyPlan& plan, const StudyPoint& point,
                                 const Losses& losses, kernel::SeededSource& source) {
  scenario::Scenario out;
  out.name = fmt::format("join-{}", point.nodes);
  out.cluster = cluster_of(plan, point, source);
  out.protocol.variant = point.variant;
  out.protocol.rendezvous.backend = point.backend;
  out.protocol.rendezvous.join = plan.join_timeout;
  out.protocol.rendezvous.keep_alive_interval = plan.keep_alive;
  out.protocol.rendezvous.max_nodes = point.nodes;
  out.protocol.rendezvous.min_nodes = point.backend == "static"
                                          ? point.nodes
                                          : point.nodes - static_cast<std::int64_t>(losses.size());
  for (const auto& [node, at] : losses) {
    scenario::TimelineEntry crash;
    crash.what = "node.crash";
    crash.trigger.at = at;
    crash.from = {out.cluster.nodes[node].id};
    out.timeline.push_back(crash);
  }
  scenario::WorkerStep run, exit;
  run.kind = scenario::WorkerStep::Kind::run;
  run.span = plan.to_the_end ? sim::Duration(1s) : sim::Duration(1h);
  exit.kind = scenario::WorkerStep::Kind::exit;
  out.workers.program = {run, exit};
  out.time_limit = plan.start_spread + plan.join_timeout + 100s;
  return out;
}

/// Adds up the runs of all seeds.
class Sum {
 public:
  explicit Sum(StudyPoint& point)
      : point_(point), formed_(sim::Duration::zero()), barrier_(sim::Duration::zero()) {}

  [[nodiscard]] bool lets_none_in() const { return all_.empty(); }
  void add(const JoinWatch& watch, const scenario::RunReport& report) {
    ++point_.seeds;
    point_.cut += report.end != kernel::RunEnd::stopped && !scenario::limit_reached(report).empty();
    point_.wall += report.wall_time;
    all_.insert(all_.end(), watch.latencies().begin(), watch.latencies().end());
    point_.failures +=
        static_cast<std::uint64_t>(point_.nodes - point_.lost) - watch.latencies().size();
    point_.whole = std::max(point_.whole, watch.whole());
    formed_ = longest(formed_, watch.formed());
    barrier_ = longest(barrier_, watch.barrier());
    attempts_ += watch.attempts;
    conflicts_ += watch.conflicts;
    bytes_ += watch.bytes;
    point_.evictions += watch.evictions;
  }
  void finish() {
    std::sort(all_.begin(), all_.end());
    point_.joins = all_.size();
    point_.p50 = quantile(all_, 50);
    point_.p99 = quantile(all_, 99);
    point_.last = all_.empty() ? sim::Duration{} : all_.back();
    point_.formed = formed_;
    point_.barrier = barrier_;
    point_.wall /= point_.seeds;
    const double tries = static_cast<double>(point_.nodes * point_.seeds);
    point_.attempts_per_node = static_cast<double>(attempts_) / tries;
    point_.conflicts_per_node = static_cast<double>(conflicts_) / tries;
    point_.bytes_per_node = static_cast<double>(bytes_) / tries;
  }

 private:
  using Span = std::optional<sim::Duration>;
  static Span longest(Span one, Span other) {
    return one && other ? Span(std::max(*one, *other)) : std::nullopt;
  }

  StudyPoint& point_;
  std::vector<sim::Duration> all_;
  std::optional<sim::Duration> formed_, barrier_;  ///< the longest; nullopt once one has none
  std::uint64_t attempts_ = 0, conflicts_ = 0, bytes_ = 0;
};

/// `point` says which.
void measure(kernel::Kernel& kernel, const StudyPlan& plan, StudyPoint& point,
             const JoinWatch::Report& progress) {
  Sum sum(point);
  const properties::InvariantRegistry none;
  // Where no agent gets in, another seed says the same, and such runs are long.
  for (std::int64_t seed = 1; seed <= plan.seeds && (seed == 1 || !sum.lets_none_in()); ++seed) {
    scenario::RunOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    kernel::SeededSource source(*options.seed);
    const Losses losses = draw_losses(plan, point.nodes, source);
    point.lost = static_cast<std::int64_t>(losses.size());
    const scenario::Scenario scenario = join_scenario(plan, point, losses, source);
    std::set<std::size_t> lost;
    for (const auto& [node, at] : losses) lost.insert(node);
    JoinWatch watch(kernel, {point.nodes, seed, 0, {}, scenario.time_limit}, lost,
                    plan.to_the_end ? JoinWatch::Until::ends : JoinWatch::Until::verdicts,
                    progress);
    options.determinism_check = false;
    options.sinks = {&watch};
    options.steps_max = 0;
    options.wall_time_max = plan.real_time_max;
    sum.add(watch, scenario::run(kernel, scenario, options, none));
  }
  sum.finish();
}

double in_seconds(sim::Duration span) {
  return std::chrono::duration<double>(span).count();
}

/// "c10d", "c10d, hardened".
std::string name_of(const StudyPoint& point) {
  std::string out = point.backend;
  if (point.variant != model::Variant::torch_2_x)
    out += ", " + std::string(to_string(point.variant));
  return out;
}

/// Only a rendezvous with one shared state counts its writes.
std::string writes(const StudyPoint& point, double per_node) {
  return point.attempts_per_node > 0 ? fmt::format("{:.1f}", per_node) : "-";
}

std::string span_text(const std::optional<sim::Duration>& span) {
  return span ? short_time(*span) : "-";
}

/// To the left in so many places where they are negative, to the right behind a space otherwise.
std::string padded(std::string_view text, int places) {
  return places < 0 ? fmt::format("{:<{}}", text, -places) : fmt::format(" {:>{}}", text, places);
}

/// A cell of the table under its title; what is not asked for is not shown.
struct Cell {
  std::string_view title;
  int width;
  std::string text;
  bool shown = true;
};

std::vector<Cell> cells_of(const StudyPlan& plan, const StudyPoint& point) {
  const auto span = [&](sim::Duration of_joins) {
    return point.joins == 0 ? "-" : short_time(of_joins);
  };
  const auto bytes = static_cast<std::uint64_t>(point.bytes_per_node);
  return {{"rendezvous", -18, name_of(point)},
          {"nodes", 6, std::to_string(point.nodes)},
          {"lost", 5, std::to_string(point.lost), plan.lost > 0},
          {"service", 8, short_time(point.service)},
          {"joined", 7, std::to_string(point.joins)},
          {"failed", 7, std::to_string(point.failures)},
          {"p50", 8, span(point.p50)},
          {"p99", 8, span(point.p99)},
          {"last", 8, span(point.last)},
          {"formed", 8, span_text(point.formed)},
          {"barrier", 8, span_text(point.barrier), plan.to_the_end},
          {"CAS/node", 9, writes(point, point.attempts_per_node)},
          {"lost/node", 10, writes(point, point.conflicts_per_node)},
          {"bytes/node", 11, point.attempts_per_node > 0 ? bytes_text(bytes) : "-"},
          {"evicted", 8, std::to_string(point.evictions)},
          {"real time", 9, short_time(point.wall)}};
}

void print_titles(const StudyPlan& plan, std::ostream& table) {
  for (const Cell& cell : cells_of(plan, {})) {
    if (cell.shown) table << padded(cell.title, cell.width);
  }
  table << '\n';
}

void print_row(const StudyPlan& plan, const StudyPoint& point, std::ostream& table) {
  for (const Cell& cell : cells_of(plan, point)) {
    if (cell.shown) table << padded(cell.text, cell.width);
  }
  table << (point.cut > 0 ? "  cut: --real-time-limit\n" : "\n") << std::flush;
}

double in_microseconds(sim::Duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

std::vector<StudyPoint> points_of(const StudyPlan& plan) {
  const std::vector<sim::Duration> services =
      plan.calibration ? std::vector{plan.calibration->service_time} : plan.service;
  std::vector<StudyPoint> out;
  for (const std::string& backend : plan.backends) {
    for (const model::Variant variant : plan.variants) {
      for (const sim::Duration service : services) {
        for (const std::int64_t nodes : plan.nodes) {
          StudyPoint& point = out.emplace_back();
          point.backend = backend;
          point.variant = variant;
          point.service = service;
          point.nodes = nodes;
        }
      }
    }
  }
  return out;
}

}  // namespace

Study run_study(const StudyPlan& plan, std::ostream& table,
                const std::function<void(const StudyProgress&)>& progress) {
  Study study;
  kernel::Kernel kernel;
  print_titles(plan, table);
  for (StudyPoint& point : points_of(plan)) {
    measure(kernel, plan, point, progress);
    print_row(plan, point, table);
    study.points.push_back(std::move(point));
  }
  return study;
}

std::string study_json(const Study& study) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  const auto known = [](const std::optional<sim::Duration>& span) {
    return span ? nlohmann::ordered_json(span->count()) : nlohmann::ordered_json(nullptr);
  };
  for (const StudyPoint& point : study.points) {
    const auto span = [&](sim::Duration of_joins) {
      return point.joins == 0 ? nlohmann::ordered_json(nullptr)
                              : nlohmann::ordered_json(of_joins.count());
    };
    out.push_back({{"backend", point.backend},
                   {"variant", std::string(to_string(point.variant))},
                   {"nodes", point.nodes},
                   {"lost", point.lost},
                   {"service_us", in_microseconds(point.service)},
                   {"seeds", point.seeds},
                   {"joins", point.joins},
                   {"failures", point.failures},
                   {"p50_ns", span(point.p50)},
                   {"p99_ns", span(point.p99)},
                   {"last_ns", span(point.last)},
                   {"whole_ns", span(point.whole)},
                   {"formed_ns", known(point.formed)},
                   {"barrier_ns", known(point.barrier)},
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
      "evictions,wall_s,whole_s,cut,backend,variant,lost,formed_s,barrier_s\n";
  const auto known = [](const std::optional<sim::Duration>& span) {
    return span ? fmt::format("{:.6f}", in_seconds(*span)) : "";
  };
  for (const StudyPoint& point : study.points) {
    const auto span = [&](sim::Duration of_joins) {
      return point.joins == 0 ? "" : fmt::format("{:.6f}", in_seconds(of_joins));
    };
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.0f},{},{:.3f},{},{},{},{},{},{},{}\n",
                    point.nodes, in_microseconds(point.service), point.seeds, point.joins,
                    point.failures, span(point.p50), span(point.p99), span(point.last),
                    point.attempts_per_node, point.conflicts_per_node, point.bytes_per_node,
                    point.evictions, std::chrono::duration<double>(point.wall).count(),
                    span(point.whole), point.cut, point.backend, to_string(point.variant),
                    point.lost, known(point.formed), known(point.barrier));
  }
  return out;
}

}  // namespace hooke::report
