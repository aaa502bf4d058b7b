#pragma once
// Mistakes of how a node carries out the operations of its rendezvous, for tests of the oracle.

#include <optional>
#include <utility>

#include "model/rendezvous/dynamic/handler_core.h"
#include "model/signals/signal_gate.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: HandlerCore or HardenedCore.
template <class Base>
class PlantedCore final : public Base {
 public:
  using Base::Base;

  /// Deaf while joining: a signal is heard when the join is over.
  void run(Operation operation, sim::MonotonicTime deadline,
           std::optional<sim::Duration> extend_by = std::nullopt) override {
    const bool deaf = operation == &Decisions::join && has(Planted::rendezvous_deaf_while_joining);
    if (!deaf) return Base::run(operation, deadline, extend_by);
    std::optional<SignalException> unheard;
    for (bool over = false; !over;) {
      try {
        Base::run(operation, deadline, extend_by);
        over = true;
      } catch (const SignalException& signal) {
        unheard = signal;
      }
    }
    if (unheard) throw SignalException(*unheard);
  }

  void pause(sim::Duration span) override {
    const bool without_pause = has(Planted::rendezvous_polls_without_pause);
    const bool ten_times = has(Planted::rendezvous_polls_ten_times);
    // The store is asked at each look, however young the copy of its state is.
    if (without_pause || ten_times) this->holder->forget_cache();
    if (without_pause) return Base::pause(span / 1000);
    if (ten_times) return Base::pause(span / 10);
    Base::pause(has(Planted::rendezvous_polls_seldom) ? span * 10 : span);
  }

  bool tries_again(Operation operation, int lost) override {
    constexpr int kTries = 4;
    if (lost == kTries && has(Planted::rendezvous_retries_end)) return false;
    if (operation == &Decisions::exit && has(Planted::rendezvous_leaving_believed)) return false;
    return Base::tries_again(operation, lost);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->settings.planted.has(mistake); }
};

}  // namespace hooke::model
