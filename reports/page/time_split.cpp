// Sweeps over the ends of all segments of a job.
#include "reports/page/time_split.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace hooke::report {
namespace {

struct Edge {
  sim::WorldTime at{};
  Phase phase{};
  std::int64_t round = -1;
  int step = 0;  ///< 1: a node begins with it, -1: it ends
};

/// No round: none of them led to anything.
constexpr std::int64_t kNone = -2;

/// How many nodes do what at one moment.
struct Doing {
  std::array<std::int64_t, kPhases> nodes{};
  std::map<std::int64_t, std::int64_t> training;  ///< by round

  void take(const Edge& edge) {
    nodes[static_cast<std::size_t>(edge.phase)] += edge.step;
    if (edge.phase == Phase::training && (training[edge.round] += edge.step) == 0)
      training.erase(edge.round);
  }
  [[nodiscard]] bool any(Phase phase) const { return nodes[static_cast<std::size_t>(phase)] > 0; }
};

Spent spent_by(const Doing& doing, std::int64_t last_round) {
  if (!doing.training.empty()) {
    return doing.training.rbegin()->first == last_round ? Spent::useful : Spent::lost;
  }
  if (doing.any(Phase::peer_lost)) return Spent::detection;
  if (doing.any(Phase::restarting)) return Spent::restart;
  if (doing.any(Phase::rendezvous)) return Spent::rendezvous;
  if (doing.any(Phase::leaving)) return Spent::leaving;
  return Spent::idle;
}

TimeSplit split_of(const std::string& run_id, std::vector<Edge> edges, std::int64_t last_round) {
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.at < b.at; });
  TimeSplit split{run_id, {}, {}};
  Doing doing;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    doing.take(edges[i]);
    const sim::WorldTime from = edges[i].at, to = edges[i + 1].at;
    if (to == from) continue;
    const Spent spent = spent_by(doing, last_round);
    split.total[static_cast<std::size_t>(spent)] += to - from;
    if (!split.slices.empty() && split.slices.back().spent == spent) {
      split.slices.back().to = to;
    } else {
      split.slices.push_back({spent, from, to});
    }
  }
  return split;
}

}  // namespace

std::string_view title_of(Spent spent) {
  switch (spent) {
    case Spent::useful: return "useful training";
    case Spent::lost: return "training, then done again or in vain";
    case Spent::detection: return "a worker was dead, no agent acted";
    case Spent::restart: return "workers were being stopped";
    case Spent::rendezvous: return "rendezvous";
    case Spent::leaving: return "exit barrier and end";
    case Spent::idle: return "no agent";
  }
  return "";
}

std::string_view class_of(Spent spent) {
  switch (spent) {
    case Spent::useful: return "training";
    case Spent::lost: return "lost";
    case Spent::detection: return "peer-lost";
    case Spent::restart: return "restarting";
    case Spent::rendezvous: return "rendezvous";
    case Spent::leaving: return "leaving";
    case Spent::idle: return "idle";
  }
  return "";
}

sim::Duration TimeSplit::whole() const {
  return std::accumulate(total.begin(), total.end(), sim::Duration::zero());
}

std::vector<TimeSplit> split_time(const std::vector<Lane>& lanes,
                                  const std::set<std::string>& in_vain) {
  struct Job {
    std::vector<Edge> edges;
    std::int64_t last_round = -1;
    sim::WorldTime first = sim::WorldTime::max();
  };
  std::map<std::string, Job> jobs;
  for (const Lane& lane : lanes) {
    for (const Segment& segment : lane.segments) {
      Job& job = jobs[segment.run_id];
      job.edges.push_back({segment.from, segment.phase, segment.round, 1});
      job.edges.push_back({segment.to, segment.phase, segment.round, -1});
      job.first = std::min(job.first, segment.from);
      if (segment.phase == Phase::training)
        job.last_round = std::max(job.last_round, segment.round);
    }
  }
  std::vector<std::pair<sim::WorldTime, TimeSplit>> splits;
  for (auto& [run_id, job] : jobs) {
    splits.emplace_back(job.first, split_of(run_id, std::move(job.edges),
                                            in_vain.count(run_id) ? kNone : job.last_round));
  }
  std::stable_sort(splits.begin(), splits.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TimeSplit> out;
  for (auto& [first, split] : splits) out.push_back(std::move(split));
  return out;
}

}  // namespace hooke::report
