#pragma once
// Mistakes about the workers of an agent, for tests of the oracle.

#include <chrono>
#include <cstddef>
#include <utility>

#include "model/variant/planted.h"
#include "model/worker/process_context.h"

namespace hooke::model {

/// `Base`: ProcessContext or HardenedProcessContext.
template <class Base>
class PlantedProcessContext final : public Base {
 public:
  template <class... Arguments>
  explicit PlantedProcessContext(PlantedSet planted, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), planted_(planted) {}

 protected:
  using Process = ProcessContext::Process;

  [[nodiscard]] bool has_failed(const Process& process) const override {
    if (!Base::has_failed(process)) return false;
    const int code = process.ended->as_python();
    const bool killed = code == -static_cast<int>(sim::Signal::kill);
    if (killed && has(Planted::worker_killed_is_no_failure)) return false;
    return code > 0 || !has(Planted::worker_death_by_signal_is_success);
  }
  [[nodiscard]] std::size_t watched() const override {
    const std::size_t all = Base::watched();
    return all > 0 && has(Planted::worker_last_one_not_watched) ? all - 1 : all;
  }
  [[nodiscard]] int exit_code_of(const Process& process) const override {
    const int code = Base::exit_code_of(process);
    return code < 0 && has(Planted::worker_exit_code_of_a_shell) ? 128 - code : code;
  }
  [[nodiscard]] bool signals_groups() const override {
    return Base::signals_groups() && !has(Planted::worker_group_spared);
  }
  void on_ended(const Process& process) override {
    if (!has(Planted::worker_group_spared)) Base::on_ended(process);
  }
  [[nodiscard]] bool is_told_to_stop(const Process& process) const override {
    const bool is_first = &process == &this->processes_.front();
    if (!is_first && has(Planted::worker_first_one_signalled)) return false;
    return has(Planted::worker_ended_ones_signalled) || Base::is_told_to_stop(process);
  }
  [[nodiscard]] sim::Duration grace_before_kill(sim::Duration grace) const override {
    if (has(Planted::worker_grace_skipped)) grace = sim::Duration::zero();
    if (has(Planted::worker_grace_ten_times)) grace *= 10;
    if (has(Planted::worker_grace_halved)) grace /= 2;
    if (has(Planted::worker_grace_doubled)) grace *= 2;
    return Base::grace_before_kill(grace);
  }
  [[nodiscard]] bool kills() const override {
    return !has(Planted::worker_grace_without_kill) && Base::kills();
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return planted_.has(mistake); }

  PlantedSet planted_;
};

}  // namespace hooke::model
