#pragma once
// Mistakes of an agent about the heartbeats of its workers, for tests of the oracle.

#include <memory>
#include <utility>
#include <vector>

#include "model/agent/heartbeat_watch.h"
#include "model/heartbeat/heartbeat_table.h"
#include "model/variant/planted.h"

namespace hooke::model {

class PlantedHeartbeatTable final : public HeartbeatTable {
 public:
  PlantedHeartbeatTable(HeartbeatTerms terms, PlantedSet planted)
      : HeartbeatTable(terms), planted_(planted) {}

 protected:
  [[nodiscard]] bool comes_back() const override {
    return !planted_.has(Planted::heartbeat_lost_for_ever);
  }
  [[nodiscard]] bool is_told(const Worker& worker) const override {
    return HeartbeatTable::is_told(worker) && !planted_.has(Planted::heartbeat_loss_told_again);
  }

 private:
  PlantedSet planted_;
};

class PlantedHeartbeatWatch final : public HeartbeatWatch {
 public:
  template <class... Arguments>
  explicit PlantedHeartbeatWatch(PlantedSet planted, Arguments&&... arguments)
      : HeartbeatWatch(std::forward<Arguments>(arguments)...), planted_(planted) {}

  std::vector<std::pair<std::int64_t, sim::Duration>> look(const ProcessContext& workers) override {
    if (has(Planted::heartbeat_loss_overlooked)) return {};
    return HeartbeatWatch::look(workers);
  }
  [[nodiscard]] HeartbeatPolicy policy() const override {
    const HeartbeatPolicy wanted = HeartbeatWatch::policy();
    const bool restarts = has(Planted::heartbeat_mark_restarts);
    return restarts && wanted == HeartbeatPolicy::mark ? HeartbeatPolicy::restart : wanted;
  }

 protected:
  [[nodiscard]] std::unique_ptr<HeartbeatTable> make_table(HeartbeatTerms terms) const override {
    if (has(Planted::heartbeat_deadline_halved)) terms.deadline /= 2;
    if (has(Planted::heartbeat_deadline_ten_times)) terms.deadline *= 10;
    return std::make_unique<PlantedHeartbeatTable>(terms, planted_);
  }
  [[nodiscard]] sim::Duration interval(const HeartbeatPlan& plan) const override {
    const bool is_deadline = has(Planted::heartbeat_interval_is_deadline);
    return is_deadline ? plan.deadline : HeartbeatWatch::interval(plan);
  }
  void forget_ended(const ProcessContext& workers) override {
    if (!has(Planted::heartbeat_ended_is_missed)) HeartbeatWatch::forget_ended(workers);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return planted_.has(mistake); }

  PlantedSet planted_;
};

}  // namespace hooke::model
