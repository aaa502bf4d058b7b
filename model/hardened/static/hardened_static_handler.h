#pragma once
// The problem: an agent that joins a static rendezvous, or waits in its store, is deaf to signals
// one lost reply ends rank 0 while the others wait for what it has to say; the store ends
// with rank 0 although others still need it; a rank 0 that comes back waits 15 minutes for
// others that have been there all the time, since each counts itself in but once, and asks for their
// number a hundred times a second; agents wait as long for the ranks of a job that has failed for
// good on another node; and a rank 0 whose store was silent when it gave the job up serves for ever
// those that it could not tell.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "model/rendezvous/static/static_handler.h"

namespace hooke::model {

class HardenedStaticHandler final : public StaticHandler {
 public:
  using StaticHandler::StaticHandler;
  /// Not while no rank has been given: without rank 0 the others would wait here for theirs.
  void linger() override;
  void group_formed() override { formed_ = true; }
  void while_waiting_for_members(std::function<void()> call) override {
    while_waiting_ = std::move(call);
  }
  void tell_while_lingering(std::function<bool(const std::shared_ptr<Store>&)> tell) override {
    tell_ = std::move(tell);
  }

 protected:
  [[nodiscard]] TcpStoreOptions store_options() const override;
  std::shared_ptr<Store> round_store() override;
  /// As before where the store cannot be reached for a moment. Clients that ask for something count
  /// too.
  std::int64_t joined(std::int64_t before) override;
  void pause(sim::Duration waited) override;

 private:
  void tell_if_it_is_time();
  bool has_told();

  std::function<void()> while_waiting_;
  std::function<bool(const std::shared_ptr<Store>&)> tell_;  ///< empty: nothing is untold
  sim::MonotonicTime lingers_since_{}, next_telling_{};
  bool formed_ = false;                      ///< a group, at least once
  std::optional<sim::MonotonicTime> heard_;  ///< when the store last said how many have joined
};

}  // namespace hooke::model
