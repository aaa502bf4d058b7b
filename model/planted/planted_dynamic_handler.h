#pragma once
// Mistakes of the handler of a dynamic rendezvous, for tests of the oracle.

#include <optional>
#include <string>

#include "model/hardened/dynamic/hardened_dynamic_handler.h"
#include "model/rendezvous/dynamic/dynamic_handler.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: DynamicHandler or HardenedDynamicHandler.
template <class Base>
class PlantedDynamicHandler : public Base {
 public:
  using Base::Base;

  bool shutdown() override {
    return has(Planted::rendezvous_shutdown_leaves_open) || Base::shutdown();
  }

 protected:
  [[nodiscard]] sim::MonotonicTime join_deadline() const override {
    if (!joined_ || !has(Planted::rendezvous_join_timeout_from_last_round))
      return Base::join_deadline();
    return *joined_ + this->core_->settings.timeout.join;
  }
  void enter_round(sim::MonotonicTime deadline) override {
    joined_.reset();
    Base::enter_round(deadline);
    joined_ = this->core_->ports.clock.monotonic_now();
  }
  void start_keep_alive() override {
    const bool first = this->core_->holder->state().round == 0;
    if (first || !has(Planted::rendezvous_keep_alive_not_restarted)) Base::start_keep_alive();
  }
  [[nodiscard]] std::int64_t world_size(const RendezvousState& state) const override {
    return has(Planted::rendezvous_world_size_is_maximum) ? this->core_->settings.max_nodes
                                                          : Base::world_size(state);
  }
  [[nodiscard]] std::string prefix_of(std::int64_t round) const override {
    return Base::prefix_of(has(Planted::rendezvous_keys_without_round) ? 0 : round);
  }
  [[nodiscard]] bool has(Planted mistake) const {
    return this->core_->settings.planted.has(mistake);
  }

 private:
  std::optional<sim::MonotonicTime> joined_;
};

/// Mistakes that only a faithful handler can make.
class PlantedFaithfulHandler final : public PlantedDynamicHandler<DynamicHandler> {
 public:
  using PlantedDynamicHandler::PlantedDynamicHandler;

 protected:
  std::int64_t count_waiting() const override {
    const bool spares_too = has(Planted::rendezvous_spares_count_as_waiting);
    const auto& spares = core_->holder->state().redundancy_list;
    return PlantedDynamicHandler::count_waiting() +
           (spares_too ? static_cast<std::int64_t>(spares.size()) : 0);
  }
};

/// Mistakes that only a hardened handler can make.
class PlantedHardenedHandler final : public PlantedDynamicHandler<HardenedDynamicHandler> {
 public:
  using PlantedDynamicHandler::PlantedDynamicHandler;

  void linger() override {
    if (!has(Planted::rendezvous_linger_skipped)) PlantedDynamicHandler::linger();
  }

 protected:
  [[nodiscard]] sim::Duration longest_silence() const override {
    return PlantedDynamicHandler::longest_silence() *
           (has(Planted::rendezvous_lingers_too_long) ? 10 : 1);
  }
};

}  // namespace hooke::model
