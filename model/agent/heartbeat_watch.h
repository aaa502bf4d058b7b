#pragma once
// The agent's use of heartbeats: one server per worker start, and what it says by local rank.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/agent/peer_exchange.h"
#include "model/agent/worker_group.h"
#include "model/heartbeat/heartbeat_plan.h"
#include "model/heartbeat/heartbeat_server.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

class HeartbeatWatch {
 public:
  /// Without a plan nothing below does anything. `looks`: how often look() will be called.
  /// std::invalid_argument for an interval below 1 ms or a deadline that is not longer.
  HeartbeatWatch(sim::Ports& ports, std::optional<HeartbeatPlan> plan, sim::Duration looks);
  virtual ~HeartbeatWatch() = default;

  /// A new server for a new incarnation of workers, given by their global ranks. std::runtime_error
  /// when it cannot listen.
  void start(const std::vector<std::int64_t>& ranks);
  /// The group that they belong to: where the plan wants it, a worker that asks is told from now on
  /// which of them live.
  void share(const WorkerGroup& group);
  /// One worker is about to be started again alone: from now on its beats count under a new name.
  void start_again(std::int64_t local_rank);
  /// Puts into a worker's environment what heartbeat_client.h reads there, and nothing that an
  /// agent above this one had put there for its own worker.
  void tell(std::map<std::string, std::string>& environment, std::int64_t local_rank) const;
  /// The workers run: tells which of them are waited for.
  void announce(const ProcessContext& workers) const;
  /// The same of one worker, by its local rank.
  void announce(const ProcessContext& workers, std::int64_t local_rank) const;
  /// Local ranks of those that have fallen silent and have not ended, with their silence.
  virtual std::vector<std::pair<std::int64_t, sim::Duration>> look(const ProcessContext& workers);
  /// Ends the server, if there is one.
  void stop() {
    server_ = nullptr;
    exchange_ = nullptr;
  }
  [[nodiscard]] virtual HeartbeatPolicy policy() const;
  /// Workers are expected to beat.
  [[nodiscard]] bool listens() const { return server_ != nullptr; }

 protected:
  /// What judges the silence of one incarnation.
  [[nodiscard]] virtual std::unique_ptr<HeartbeatTable> make_table(HeartbeatTerms terms) const;
  /// How often a worker is told to beat.
  [[nodiscard]] virtual sim::Duration interval(const HeartbeatPlan& plan) const {
    return plan.interval;
  }
  /// Workers that have ended are not missed.
  virtual void forget_ended(const ProcessContext& workers);

 private:
  /// What the names of one start have in common, and those of no other.
  [[nodiscard]] std::string new_incarnation() const;
  /// By local rank.
  [[nodiscard]] WorkerLives own_lives(const ProcessContext& workers) const;

  sim::Ports& ports_;
  std::optional<HeartbeatPlan> plan_;
  sim::Duration looks_;
  std::unique_ptr<PeerExchange> exchange_;  ///< null unless peers are told
  std::unique_ptr<HeartbeatServer> server_;
  std::vector<std::string> names_;  ///< by local rank
  std::vector<std::int64_t> ranks_;
};

}  // namespace hooke::model
