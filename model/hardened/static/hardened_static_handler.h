#pragma once
// The problem: an agent that joins a static rendezvous, or waits in its store, is deaf to signals
// one lost reply ends rank 0 while the others wait for what it has to say; and the store
// ends with rank 0 although others still need it.

#include <cstdint>
#include <memory>

#include "model/rendezvous/static/static_handler.h"

namespace hooke::model {

class HardenedStaticHandler final : public StaticHandler {
 public:
  using StaticHandler::StaticHandler;
  /// Not when this node has never met the others: without rank 0 they would wait here for ranks.
  void linger() override;

 protected:
  [[nodiscard]] TcpStoreOptions store_options() const override;
  std::shared_ptr<Store> round_store() override;
  /// As before where the store cannot be reached for a moment.
  std::int64_t joined(std::int64_t before) override;
  void before_next_look() override;

 private:
  bool met_ = false;                         ///< the others, at least once
  std::optional<sim::MonotonicTime> heard_;  ///< when the store last said how many have joined
};

}  // namespace hooke::model
