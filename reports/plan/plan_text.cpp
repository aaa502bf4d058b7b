// First the answer, then where the time goes, what a failure costs, and what to change.
#include "reports/plan/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/text.h"

namespace hooke::report {
namespace {

constexpr std::array<const char*, kUses> kUseWords{"useful training",
                                                   "saving checkpoints",
                                                   "done again",
                                                   "until an agent acts",
                                                   "rendezvous",
                                                   "restart and load",
                                                   "waiting for nodes",
                                                   "until the job is started anew",
                                                   "nodes that were missing"};
constexpr std::array<const char*, kUses> kUseKeys{"useful",    "saving",     "redone",
                                                  "detection", "rendezvous", "restart",
                                                  "waiting",   "relaunch",   "fewer_nodes"};
constexpr std::array<const char*, kEpisodeKinds> kKindWords{
    "the job is launched",
    "a worker fails",
    "a node is lost, a spare is there",
    "the node with the store is lost",
    "a node is lost, and back in a minute",
    "a node is lost, and none takes its place",
    "a node joins the running job"};
constexpr std::array<const char*, kEpisodeKinds> kKindKeys{
    "start",        "worker_fails", "spare_at_hand", "host_is_lost",
    "node_returns", "node_is_gone", "node_is_added"};

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

/// "5h", "33h45m".
std::string span_text(sim::Duration span) {
  if (span < 1h) return short_time(span);
  const auto minutes = std::chrono::round<std::chrono::minutes>(span).count();
  return fmt::format("{}h", minutes / 60) +
         (minutes % 60 == 0 ? "" : fmt::format("{:02}m", minutes % 60));
}

sim::Duration median_of(const std::vector<Episode>& episodes, sim::Duration Episode::*part) {
  std::vector<sim::Duration> all;
  for (const Episode& episode : episodes) all.push_back(episode.*part);
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::size_t count_of(const std::vector<Episode>& episodes, Ending ending) {
  return static_cast<std::size_t>(
      std::count_if(episodes.begin(), episodes.end(),
                    [&](const Episode& episode) { return episode.ending == ending; }));
}

/// "trains after 16.8s: noticed 13.7s, rendezvous 3.1s", "the job ends after 1m17s".
std::string cost_text(EpisodeKind kind, const std::vector<Episode>& episodes, const Style& style) {
  const std::size_t trains = count_of(episodes, Ending::trains);
  const sim::Duration noticed = median_of(episodes, &Episode::detection);
  const sim::Duration met = median_of(episodes, &Episode::rendezvous);
  const sim::Duration started = median_of(episodes, &Episode::restart);
  const std::string after = short_time(noticed + met + started);
  if (trains == episodes.size()) {
    const bool charged = std::any_of(episodes.begin(), episodes.end(),
                                     [](const Episode& episode) { return episode.charged; });
    const std::string cost = charged ? ", costs a restart" : "";
    if (kind == EpisodeKind::start) return "trains after " + after;
    return fmt::format("trains after {}: noticed {}, rendezvous {}{}", after, short_time(noticed),
                       short_time(met), cost);
  }
  const std::size_t hangs = count_of(episodes, Ending::hangs);
  const std::string what = hangs > 0 ? "the job hangs" : "the job ends after " + after;
  const std::string how_often =
      trains == 0 ? ""
                  : fmt::format(" ({} of {} times)", episodes.size() - trains, episodes.size());
  return paint(style, "31;1", what) + how_often;
}

/// What the figures below hold for, where a start of so many nodes was not seen to its end.
std::string not_known(const PlanResult& result, const PlanOptions& options, const Style& style) {
  if (result.simulation.start_seen) return "";
  const std::string text = fmt::format(
      "It is not known whether {} nodes form a round: a start of all of them was not over after "
      "--real-time-limit ({}). What follows holds if they do. With --real-time-limit 15m the start "
      "may be seen to its end.",
      grouped(static_cast<std::uint64_t>(result.plan.nodes)),
      span_text(options.simulation.start_of_all_max));
  const std::size_t width = std::max<std::size_t>(style.width, 40) - 1;
  return paint(style, "33;1", wrap(text, width, "")) + "\n\n";
}

std::string head(const PlanResult& result, const PlanOptions& options, const Style& style) {
  const JobPlan& plan = result.plan;
  const Forecast& forecast = result.forecast;
  const auto days = std::chrono::duration<double, std::ratio<86'400>>(options.length).count();
  return not_known(result, options, style) +
         fmt::format(
             "{} of the time is useful training: {} nodes, {} spare{}, a node lost every {}\n",
             paint(style, "1", percent(forecast.mean)),
             grouped(static_cast<std::uint64_t>(plan.nodes)), plan.spares,
             plan.spares == 1 ? "" : "s", span_text(plan.node_failures)) +
         fmt::format(
             "(in nine of ten courses of {:.0f} days {} to {}; {:.1f} failures in each, {:.1f} of "
             "which end the job{})\n",
             days, percent(forecast.low), percent(forecast.high), forecast.failures, forecast.ends,
             forecast.starts_in_vain > 0
                 ? fmt::format("; {:.1f} starts in vain", forecast.starts_in_vain)
                 : "");
}

std::string time_table(const Forecast& forecast) {
  constexpr double kBar = 40;
  std::string out = "\nwhere the time goes\n";
  for (std::size_t use = 0; use < kUses; ++use) {
    const double share = forecast.shares[use];
    if (share < 0.00005) continue;
    std::string bar;
    for (int i = 0; i < static_cast<int>(share * kBar + 0.5); ++i) bar += "█";
    out += fmt::format("  {:<30}{:>8.2f} %  {}\n", kUseWords[use], share * 100, bar);
  }
  return out;
}

std::string episode_table(const PlanResult& result, const PlanOptions& options,
                          const Style& style) {
  std::string out = fmt::format("\nwhat happens (played with up to {} nodes, {} times each)\n",
                                result.simulation.nodes, options.simulation.episodes);
  for (const auto& [kind, episodes] : result.simulation.episodes) {
    out += fmt::format("  {:<42}{}\n", kKindWords[static_cast<std::size_t>(kind)],
                       cost_text(kind, episodes, style));
  }
  const auto& starts = result.simulation.episodes.at(EpisodeKind::start);
  if (count_of(starts, Ending::trains) == 0) {
    out += "  so many nodes form no round: hooke bench rendezvous shows how many do\n";
  }
  return out;
}

std::string advice_table(const PlanResult& result, const Style& style) {
  const std::string indent(21, ' ');
  const std::size_t width = std::max<std::size_t>(style.width, 40) - 1;
  std::string out = result.advice.empty() ? "\nno setting of torchrun's gains a tenth of a point\n"
                                          : "\nwhat to change, each on top of those above it\n";
  double before = result.forecast.mean;
  for (const Advice& advice : result.advice) {
    out += fmt::format("  {:>6} -> {:<9}{}\n", percent(before), percent(advice.ratio),
                       paint(style, "1", advice.lever.change));
    out += indent + wrap(advice.lever.why, width, indent) + "\n";
    before = advice.ratio;
  }
  if (result.plan.variant == model::Variant::hardened) return out;
  out += fmt::format("  with hooke's hardened agents: {} as it stands", percent(result.hardened));
  if (!result.advice.empty()) {
    out += fmt::format(", {} with these changes", percent(result.hardened_and_advice));
  }
  if (!result.hardened_start_seen) out += ", if all nodes form a round, which was not seen";
  return out + "\n";
}

constexpr const char* kAssumptions =
    "Failures are independent and come at a constant rate. Every agent's budget of restarts pays "
    "for each failure that is charged to any. A failure while the job starts costs nothing more. "
    "Training is as fast as its nodes are many.";

}  // namespace

std::string plan_text(const PlanResult& result, const PlanOptions& options, const Style& style) {
  return head(result, options, style) + time_table(result.forecast) +
         episode_table(result, options, style) + advice_table(result, style) + "\n" +
         wrap(kAssumptions, std::max<std::size_t>(style.width, 40) - 1, "") + "\n";
}

nlohmann::ordered_json plan_json(const PlanResult& result, const PlanOptions& options) {
  nlohmann::ordered_json json{{"ratio", result.forecast.mean},
                              {"ratio_low", result.forecast.low},
                              {"ratio_high", result.forecast.high},
                              {"failures", result.forecast.failures},
                              {"ends", result.forecast.ends},
                              {"starts_in_vain", result.forecast.starts_in_vain},
                              {"length_s", in_seconds(options.length)},
                              {"nodes_simulated", result.simulation.nodes},
                              {"start_of_all_seen", result.simulation.start_seen}};
  for (std::size_t use = 0; use < kUses; ++use) {
    json["shares"][kUseKeys[use]] = result.forecast.shares[use];
  }
  for (const auto& [kind, episodes] : result.simulation.episodes) {
    for (const Episode& episode : episodes) {
      constexpr std::array<const char*, 3> kEndings{"trains", "ended", "hangs"};
      json["episodes"][kKindKeys[static_cast<std::size_t>(kind)]].push_back(
          {{"ending", kEndings[static_cast<std::size_t>(episode.ending)]},
           {"detection_s", in_seconds(episode.detection)},
           {"rendezvous_s", in_seconds(episode.rendezvous)},
           {"restart_s", in_seconds(episode.restart)},
           {"charged", episode.charged},
           {"nodes", episode.nodes}});
    }
  }
  json["advice"] = nlohmann::ordered_json::array();
  for (const Advice& advice : result.advice) {
    json["advice"].push_back(
        {{"change", advice.lever.change}, {"why", advice.lever.why}, {"ratio", advice.ratio}});
  }
  if (result.plan.variant != model::Variant::hardened) {
    json["ratio_hardened"] = result.hardened;
    json["ratio_hardened_and_advice"] = result.hardened_and_advice;
    json["hardened_start_of_all_seen"] = result.hardened_start_seen;
  }
  return json;
}

}  // namespace hooke::report
