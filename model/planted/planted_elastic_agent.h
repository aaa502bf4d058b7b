#pragma once
// Mistakes in the loop of an agent, for tests of the oracle.

#include <functional>

#include "model/agent/elastic_agent.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: ElasticAgent or HardenedElasticAgent.
template <class Base>
class PlantedElasticAgent final : public Base {
 public:
  using Base::Base;

 protected:
  [[nodiscard]] sim::Duration monitor_interval() const override {
    const sim::Duration interval = Base::monitor_interval();
    if (has(Planted::agent_monitors_ten_times)) return interval / 10;
    if (has(Planted::agent_monitors_seldom)) return interval * 10;
    return interval;
  }
  void count_restart() override {
    if (!has(Planted::agent_restart_not_counted)) Base::count_restart();
  }
  void stop_workers() override {
    if (!has(Planted::agent_old_workers_left_running)) Base::stop_workers();
  }
  void stop_timers() override {
    if (!has(Planted::timer_guards_while_stopping)) Base::stop_timers();
  }
  void shutdown(sim::Signal signal, sim::Duration grace,
                const std::function<void()>& meanwhile) override {
    Base::shutdown(signal, grace, meanwhile);
    if (has(Planted::timer_guards_while_stopping)) Base::stop_timers();
  }
  void stop_for_signal(sim::Signal signal) override {
    Base::stop_for_signal(has(Planted::worker_stopped_by_sigterm) ? sim::Signal::term : signal);
  }
  void shutdown_at_end(sim::Signal signal, const std::function<void()>& meanwhile) override {
    if (!has(Planted::agent_ends_before_workers)) Base::shutdown_at_end(signal, meanwhile);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->spec_.planted.has(mistake); }
};

}  // namespace hooke::model
