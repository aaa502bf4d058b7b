// One handler per subject, then one writer per subject. Labels have few values, all of them known
// here or drawn up by the model; no rank, process or round is ever a label.
#include "reports/exports/agent_metrics.h"

#include "model/observe/metric_label.h"
#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"

namespace hooke::report {

namespace ev = model::events;

void AgentMetrics::on_event(const sim::Event& event) {
  on_agent(event);
  on_rendezvous(event);
  on_worker(event);
}

void AgentMetrics::on_agent(const sim::Event& event) {
  const auto number = [&](const char* name) { return event.field(name).number(); };
  if (event.type == &ev::agent_started) {
    run_id_ = event.field("run_id").text();
    backend_ = event.field("backend").text();
    min_nodes_ = number("min_nodes");
    max_nodes_ = number("max_nodes");
    restarts_allowed_ = restarts_left_ = number("max_restarts");
    started_ = event.wall;
    phase_ = Phase::starting;
  } else if (event.type == &ev::agent_settings) {
    keep_alive_threshold_ = sim::Duration(number("keep_alive"));
    join_timeout_ = sim::Duration(number("join"));
  } else if (event.type == &ev::group_restarting) {
    ++restarts_[std::string(event.field("cause").text())];
    restarts_left_ = number("remaining_restarts");
    phase_ = Phase::restarting;
  } else if (event.type == &ev::worker_restarting) {
    ++restarts_["worker_failure"];
    restarts_left_ = number("remaining_restarts");
  } else if (event.type == &ev::exit_barrier_entered) {
    phase_ = Phase::leaving;
  } else if (event.type == &ev::agent_finished) {
    end_join(event.wall);
    phase_ = Phase::finished;
  } else if (event.type == &ev::heartbeat_lost) {
    ++beats_lost_;
  } else if (event.type == &ev::timer_expired) {
    ++timers_expired_;
  }
}

void AgentMetrics::end_join(sim::WallTime now) {
  if (!joining_since_) return;
  in_rendezvous_ += std::max(now - *joining_since_, sim::Duration::zero());
  joining_since_.reset();
}

void AgentMetrics::on_rendezvous(const sim::Event& event) {
  const auto number = [&](const char* name) { return event.field(name).number(); };
  if (event.type == &ev::rendezvous_joining) {
    joining_since_ = event.wall;
    phase_ = Phase::rendezvous;
  } else if (event.type == &ev::rendezvous_joined) {
    if (joining_since_) joins_.add(std::max(event.wall - *joining_since_, sim::Duration::zero()));
    end_join(event.wall);
    ++rounds_;
    round_ = number("round");
    rank_ = number("rank");
    members_ = number("world_size");
  } else if (event.type == &ev::rendezvous_failed) {
    end_join(event.wall);
    ++joins_failed_;
  } else if (event.type == &ev::ranks_assigned) {
    world_size_ = number("world_size");
  } else if (event.type == &ev::rendezvous_cost) {
    conflicts_ += number("conflicts");
  } else if (event.type == &ev::rendezvous_evicted) {
    ++evictions_;
  } else if (event.type == &ev::rendezvous_exchanged) {
    const sim::Duration spent(number("began") - number("ended"));
    (event.field("kind").text() == "read" ? reads_ : writes_).add(spent);
  } else if (event.type == &ev::keep_alive_tick) {
    if (event.field("result").text() == "ok") {
      last_keep_alive_ = event.wall;
    } else {
      ++keep_alives_failed_;
    }
  } else if (event.type == &ev::keep_alive_died) {
    ++keep_alives_failed_;
  }
}

void AgentMetrics::on_worker(const sim::Event& event) {
  if (event.type == &ev::worker_started) {
    workers_.insert(event.field("worker_pid").number());
    ++workers_started_;
    phase_ = Phase::working;
  } else if (event.type == &ev::worker_ended) {
    workers_.erase(event.field("worker_pid").number());
    const std::int64_t status = event.field("status").number();
    if (status == 0 || event.field("stopped").number() != 0) return;
    ++(status < 0 ? by_signal_ : by_exit_code_);
  }
}

std::string AgentMetrics::text(sim::WallTime now,
                               const std::optional<model::GroupView>& view) const {
  Exposition out;
  write_agent(out);
  write_workers(out);
  write_rounds(out, now);
  write_view(out, view);
  write_keep_alives(out);
  return out.text();
}

void AgentMetrics::write_agent(Exposition& out) const {
  const auto label = &model::metric_label;
  out.family("hooke_agent_info", "gauge",
             "The job of this agent and the backend it meets over; 1.");
  out.sample(1, label("run_id", run_id_) + "," + label("backend", backend_));
  out.family("hooke_agent_start_time_seconds", "gauge", "When the agent began, since 1970.");
  out.seconds(started_);
  out.family("hooke_agent_phase", "gauge",
             "1 for what the agent does now, 0 for the other phases.");
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    out.sample(i == static_cast<std::size_t>(phase_) ? 1 : 0, label("phase", kPhases[i]));
  }
  out.family("hooke_agent_restarts_total", "counter", "Restarts of the workers, by cause.");
  for (const auto& [cause, count] : restarts_) out.sample(count, label("cause", cause));
  out.family("hooke_agent_restarts_left", "gauge",
             "Restarts after a failure that the agent may still make.");
  out.sample(restarts_left_);
  out.family("hooke_agent_restarts_used", "gauge", "Restarts of max_restarts that are spent.");
  out.sample(restarts_allowed_ - restarts_left_);
  out.family("hooke_job_min_nodes", "gauge", "Nodes that a round needs.");
  out.sample(min_nodes_);
  out.family("hooke_job_max_nodes", "gauge", "Nodes that a round takes.");
  out.sample(max_nodes_);
}

void AgentMetrics::write_workers(Exposition& out) const {
  out.family("hooke_workers", "gauge", "Workers of this agent that run.");
  out.sample(std::ssize(workers_));
  out.family("hooke_workers_started_total", "counter", "Workers that this agent has started.");
  out.sample(workers_started_);
  out.family("hooke_worker_failures_total", "counter",
             "Workers of this agent that failed without being told to stop, by how they ended.");
  out.sample(by_exit_code_, model::metric_label("kind", "exit_code"));
  out.sample(by_signal_, model::metric_label("kind", "signal"));
  out.family("hooke_worker_heartbeats_lost_total", "counter",
             "How often a worker was silent for longer than it may.");
  out.sample(beats_lost_);
  out.family("hooke_worker_timers_expired_total", "counter", "Deadlines that workers let pass.");
  out.sample(timers_expired_);
}

void AgentMetrics::write_rounds(Exposition& out, sim::WallTime now) const {
  out.family("hooke_rendezvous_rounds_total", "counter", "Rounds that this agent was in.");
  out.sample(rounds_);
  out.family("hooke_rendezvous_round", "gauge",
             "Number of the last round that this agent was in; -1 before the first.");
  out.sample(round_);
  out.family("hooke_rendezvous_rank", "gauge",
             "Rank of this node in that round; -1 before the first.");
  out.sample(rank_);
  out.family("hooke_job_nodes", "gauge", "Nodes of that round; 0 before the first.");
  out.sample(members_);
  out.family("hooke_job_world_size", "gauge", "Workers of that round; 0 before the first.");
  out.sample(world_size_);
  sim::Duration spent = in_rendezvous_;
  if (joining_since_) spent += std::max(now - *joining_since_, sim::Duration::zero());
  out.family("hooke_rendezvous_seconds_total", "counter",
             "Time that this agent has spent in joins, the one that goes on included.");
  out.seconds(spent);
  out.family("hooke_rendezvous_joining_since_timestamp_seconds", "gauge",
             "When the join that goes on began, since 1970; 0 when there is none.");
  out.seconds(joining_since_.value_or(sim::WallTime{}));
  out.family("hooke_rendezvous_join_timeout_seconds", "gauge", "How long a join may take.");
  out.seconds(join_timeout_);
  out.family("hooke_rendezvous_join_duration_seconds", "histogram",
             "Joins that ended in a round, from the wish to the rank.");
  out.histogram(joins_);
  out.family("hooke_rendezvous_joins_failed_total", "counter", "Joins that ended in an error.");
  out.sample(joins_failed_);
  out.family("hooke_rendezvous_conflicts_total", "counter",
             "Compare-and-sets of joins that were lost to another node.");
  out.sample(conflicts_);
  out.family("hooke_rendezvous_evictions_total", "counter",
             "Nodes that this agent has removed as dead.");
  out.sample(evictions_);
}

void AgentMetrics::write_view(Exposition& out, const std::optional<model::GroupView>& view) {
  const auto gauge = [&](const char* name, const char* help, auto&& value_of) {
    out.family(name, "gauge", help);
    if (view) out.sample(value_of(*view));
  };
  using View = const model::GroupView&;
  gauge("hooke_rendezvous_participants", "Participants in the shared state last seen.",
        [](View seen) { return seen.participants; });
  gauge("hooke_rendezvous_waiting_nodes", "Nodes on its wait list.",
        [](View seen) { return seen.waiting; });
  gauge("hooke_rendezvous_spare_nodes", "Nodes on its redundancy list.",
        [](View seen) { return seen.spares; });
  gauge("hooke_rendezvous_complete", "1 while its round is complete.",
        [](View seen) { return std::int64_t{seen.complete}; });
  gauge("hooke_rendezvous_closed", "1 when no other round can come.",
        [](View seen) { return std::int64_t{seen.closed}; });
  out.family("hooke_rendezvous_oldest_keep_alive_timestamp_seconds", "gauge",
             "The oldest keep-alive of its participants, by their clocks, since 1970.");
  if (view && view->oldest_keep_alive) out.seconds(*view->oldest_keep_alive);
}

void AgentMetrics::write_keep_alives(Exposition& out) const {
  out.family("hooke_rendezvous_last_keep_alive_timestamp_seconds", "gauge",
             "When this agent last wrote its keep-alive, since 1970; 0 before the first.");
  out.seconds(last_keep_alive_);
  out.family("hooke_rendezvous_keep_alive_threshold_seconds", "gauge",
             "Age of a keep-alive after which others take the node for dead.");
  out.seconds(keep_alive_threshold_);
  out.family("hooke_rendezvous_keep_alives_failed_total", "counter",
             "Keep-alives of this agent that could not be written.");
  out.sample(keep_alives_failed_);
  out.family("hooke_rendezvous_store_duration_seconds", "histogram",
             "Exchanges of the shared state with the store that changed or showed something.");
  out.histogram(reads_, model::metric_label("operation", "read"));
  out.histogram(writes_, model::metric_label("operation", "write"));
}

}  // namespace hooke::report
