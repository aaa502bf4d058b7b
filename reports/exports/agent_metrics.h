#pragma once
// What Prometheus is told of a running agent and its job: rounds, restarts, members, time in
// rendezvous, keep-alives, latency of the store. Read off the agent's own events, so that a figure
// here and a finding of `hooke judge` rest on the same facts. Every family is there from the start.

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/rendezvous/core/group_keeping.h"
#include "reports/exports/exposition.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

class AgentMetrics final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override;
  /// The text exposition format of Prometheus as of `now`. `view`: what the agent knows of its
  /// group; nullopt where its backend tells nothing, which leaves these families without samples.
  [[nodiscard]] std::string text(sim::WallTime now,
                                 const std::optional<model::GroupView>& view) const;

 private:
  enum class Phase : unsigned char { starting, rendezvous, working, restarting, leaving, finished };
  static constexpr std::array<const char*, 6> kPhases{"starting",   "rendezvous", "working",
                                                      "restarting", "leaving",    "finished"};

  void on_agent(const sim::Event& event);
  void on_rendezvous(const sim::Event& event);
  void on_worker(const sim::Event& event);
  void end_join(sim::WallTime now);
  void write_agent(Exposition& out) const;
  void write_workers(Exposition& out) const;
  void write_rounds(Exposition& out, sim::WallTime now) const;
  static void write_view(Exposition& out, const std::optional<model::GroupView>& view);
  void write_keep_alives(Exposition& out) const;

  std::string run_id_, backend_;
  sim::WallTime started_{};
  Phase phase_ = Phase::starting;
  std::int64_t restarts_allowed_ = 0, restarts_left_ = 0;
  std::map<std::string, std::int64_t, std::less<>> restarts_{
      {"heartbeat_loss", 0}, {"membership_change", 0}, {"worker_failure", 0}};
  std::int64_t min_nodes_ = 0, max_nodes_ = 0;

  std::set<std::int64_t> workers_;  ///< pids
  std::int64_t workers_started_ = 0, by_exit_code_ = 0, by_signal_ = 0;
  std::int64_t beats_lost_ = 0, timers_expired_ = 0;

  std::int64_t rounds_ = 0, round_ = -1, rank_ = -1, members_ = 0, world_size_ = 0;
  std::int64_t joins_failed_ = 0, conflicts_ = 0, evictions_ = 0;
  std::optional<sim::WallTime> joining_since_;
  sim::Duration in_rendezvous_{};
  SpanHistogram joins_, reads_, writes_;

  sim::WallTime last_keep_alive_{};
  std::int64_t keep_alives_failed_ = 0;
  sim::Duration keep_alive_threshold_{}, join_timeout_{};
};

}  // namespace hooke::report
