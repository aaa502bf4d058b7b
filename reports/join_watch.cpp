#include "reports/join_watch.h"

#include <algorithm>

#include "model/observe/trace_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;

}  // namespace

JoinWatch::JoinWatch(kernel::Kernel& kernel, StudyProgress state, const std::set<std::size_t>& lost,
                     Until until, const Report& report)
    : kernel_(kernel),
      nodes_(static_cast<std::size_t>(state.nodes)),
      state_(state),
      until_(until),
      report_(report),
      open_(nodes_.size() - lost.size()),
      expected_(open_) {
  for (const std::size_t each : lost) nodes_[each].is_over = true;
}

std::optional<sim::Duration> JoinWatch::formed() const {
  if (ranked_ < expected_ || !first_) return std::nullopt;
  return last_ranks_ - *first_;
}

void JoinWatch::on_event(const sim::Event& event) {
  constexpr std::uint64_t kEventsBetweenReports = 4096;
  if (report_ && ++events_ % kEventsBetweenReports == 0) {
    state_.now = event.at - sim::WorldTime{};
    report_(state_);
  }
  // The store's machine is no node of the job.
  if (event.node.value < nodes_.size()) on_own_event(nodes_[event.node.value], event);
}

void JoinWatch::on_own_event(Node& node, const sim::Event& event) {
  if (event.type == &ev::agent_started || event.type == &ev::rendezvous_joining) {
    // Not every rendezvous says that a node begins to join: where none does, its agent's start
    // counts. One that joins again does so because it has lost its group.
    if (!node.is_in) node.wants = event.at;
    first_ = std::min(first_.value_or(event.at), event.at);
  } else if (event.type == &ev::rendezvous_cost) {
    attempts += static_cast<std::uint64_t>(event.field("attempts").number());
    conflicts += static_cast<std::uint64_t>(event.field("conflicts").number());
    bytes += static_cast<std::uint64_t>(event.field("bytes").number());
    if (event.field("round").number() >= 0) is_in(node, event.at);
  } else if (event.type == &ev::ranks_assigned) {
    has_ranks(node, event.at);
  } else if (event.type == &ev::exit_barrier_entered) {
    ++at_barrier_;
    last_at_barrier_ = event.at;
  } else if (event.type == &ev::agent_finished) {
    ended_well_ += event.field("outcome").text() == "succeeded" ? 1 : 0;
    last_end_ = event.at;
    is_over(node);
  } else if (event.type == &ev::rendezvous_failed) {
    is_over(node);
  } else if (event.type == &ev::rendezvous_evicted) {
    ++evictions;
  }
}

std::optional<sim::Duration> JoinWatch::barrier() const {
  if (at_barrier_ < expected_ || ended_well_ < expected_) return std::nullopt;
  return last_end_ - last_at_barrier_;
}

void JoinWatch::has_ranks(Node& node, sim::WorldTime now) {
  is_in(node, now);
  if (node.is_over || node.has_ranks) return;
  node.has_ranks = true;
  ++ranked_;
  last_ranks_ = now;
  if (until_ == Until::verdicts) is_over(node);
}

void JoinWatch::is_in(Node& node, sim::WorldTime now) {
  if (node.is_over || node.is_in) return;
  node.is_in = true;
  latencies_.push_back(now - node.wants);
  whole_ = now - *first_;
}

void JoinWatch::is_over(Node& node) {
  if (node.is_over) return;
  node.is_over = true;
  ++state_.verdicts;
  if (--open_ == 0) kernel_.stop();
}

}  // namespace hooke::report
