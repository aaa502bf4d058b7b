#pragma once
// The problem: PyTorch's handler says nothing of what becomes of a group. Members that die while it
// forms leave the others waiting for keys, a store that comes up empty takes rounds back
// a wait on the store is deaf to signals, a store ends with the agent that
// hosts it, and a node that leaves closes the rendezvous for all (L-2, L-3).

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "model/hardened/dynamic/hardened_bootstrap.h"
#include "model/hardened/dynamic/hardened_core.h"
#include "model/rendezvous/dynamic/dynamic_handler.h"

namespace hooke::model {

class HardenedDynamicHandler : public DynamicHandler {
 public:
  HardenedDynamicHandler(std::shared_ptr<HardenedCore> core,
                         std::unique_ptr<HardenedBootstrap> bootstrap);

  GroupState group_state() override;
  [[nodiscard]] bool may_have_news() override;
  bool round_is_taken() override;
  void look_anew() override { core_->holder->forget_cache(); }
  Successor successor() override;
  [[nodiscard]] bool others_wait() const override { return count_waiting() > 0; }
  void when_waiting(std::function<void()> call) override;
  void when_seated(std::function<void(std::int64_t round)> call) override;
  void when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) override;
  void group_formed() override;
  [[nodiscard]] std::optional<sim::Duration> outage_limit() const override;
  bool leave() override;
  void linger() override;
  std::shared_ptr<TcpStoreServer> hand_on() override;
  bool shutdown() override;

 protected:
  void enter_round(sim::MonotonicTime deadline) override;
  std::shared_ptr<Store> round_store(std::int64_t round) override;
  void exchange_bootstrap(RendezvousInfo& info) override;
  std::int64_t count_waiting() const override;
  [[nodiscard]] bool is_alive(const Participant& participant) const override;
  void before_leaving() override;
  /// How long a client may be silent before it is taken for gone.
  [[nodiscard]] virtual sim::Duration longest_silence() const;

 private:
  void take_seat(sim::MonotonicTime deadline);
  void begin_after_old_rounds();
  bool was_used(std::int64_t round);
  void while_waiting();
  void require_time_to_form();
  void confirm_group();
  [[nodiscard]] bool has_lost_a_member() const;
  [[nodiscard]] bool is_forgotten() const;
  bool has_been_forgotten();
  void leave_with_the_others();
  [[nodiscard]] Successor successor_in(const RendezvousState& state) const;
  [[nodiscard]] bool one_is_new() const;
  [[nodiscard]] std::optional<NodeDesc> first_member() const;
  void give_up_own_connections();
  bool run_to_leave_within(Operation operation, sim::Duration outage);

  HardenedCore& hardened_;
  sim::Duration outage_while_leaving_{};
  bool forming_ = false;        ///< a round has been joined, and its ranks are not yet known
  bool told_ = false;           ///< the round's store has had the workers' address
  sim::MonotonicTime heard_{};  ///< while it is forming: when the rendezvous last answered
  sim::MonotonicTime joined_at_{};
  std::optional<std::pair<std::int64_t, std::int64_t>> joined_;  ///< round, and its size then
  std::function<bool(std::int64_t, Store&)> was_the_end_;
  std::function<void(std::int64_t)> when_seated_;
  std::optional<std::int64_t> beside_;  ///< the round of others that this node has waited beside
  bool was_spare_ = false;              ///< since this node last began to join
};

}  // namespace hooke::model
