#pragma once
// What is where right now, read off the trace: living agents and workers, and the node that holds
// rank 0. Roles and worker faults of a scenario are resolved with it at the moment of acting.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/trace_recorder.h"
#include "sim/port/ids.h"

namespace hooke::scenario {

class Roster final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override;

  /// Living agent processes of a node in order of start.
  [[nodiscard]] std::vector<sim::Pid> agents(sim::NodeId node) const;
  /// Agents that have been started and have not ended, anywhere.
  [[nodiscard]] std::size_t living_agents() const { return living_agents_; }
  /// The living worker of a node with that local rank that was started last, or that of each local
  /// rank in order when there is no `local_rank`.
  [[nodiscard]] std::vector<sim::Pid> workers(sim::NodeId node,
                                              std::optional<std::int64_t> local_rank) const;
  /// The node that last joined a round as rank 0.
  [[nodiscard]] std::optional<sim::NodeId> rank0() const { return rank0_; }
  /// The round for which an agent started this living worker; nullopt: none has said so yet.
  [[nodiscard]] std::optional<std::int64_t> round_of(sim::NodeId node, sim::Pid worker) const;
  /// The latest round of this job that an agent has joined; nullopt: none yet.
  [[nodiscard]] std::optional<std::int64_t> newest_round(const std::string& run_id) const;

 private:
  struct Worker {
    sim::Pid pid{};
    std::int64_t round = 0;
  };
  void joined(const sim::Event& event);
  void worker_started(const sim::Event& event);
  void process_ended(const sim::Event& event);

  std::map<sim::NodeId, std::vector<sim::Pid>> agents_;
  std::size_t living_agents_ = 0;
  /// Living ones by node and local rank, in order of start: two agents of a node, or one that could
  /// not end a worker, have several of one local rank.
  std::map<std::pair<sim::NodeId, std::int64_t>, std::vector<Worker>> workers_;
  std::optional<sim::NodeId> rank0_;
  std::map<std::string, std::int64_t, std::less<>> newest_rounds_;  ///< by run id
};

}  // namespace hooke::scenario
