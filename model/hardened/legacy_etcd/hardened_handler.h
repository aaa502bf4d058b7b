#pragma once
// The problem: the legacy rendezvous says nothing of what becomes of a group: no agent looks for
// members that are gone (S-L8), or waits for keys that these would have written; the first
// lost connection ends an agent at work, or leaves its job open; and a prefix without its slash
// makes every newcomer take the living for dead (S-L14).

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/hardened/legacy_etcd/hardened_rendezvous.h"
#include "model/rendezvous/legacy_etcd/handler.h"

namespace hooke::model {

/// An answer is waited for no longer than this node may be silent itself.
EtcdOptions hardened_legacy_options(EtcdOptions options);
/// With the slash that the prefix lacks.
LegacyEtcdSettings hardened_legacy_settings(LegacyEtcdSettings settings);

/// An etcd that cannot be reached is a RendezvousConnectionError, which an agent outlasts for a
/// moment.
class HardenedLegacyEtcdHandler final : public LegacyEtcdHandler {
 public:
  HardenedLegacyEtcdHandler(sim::Ports& ports, const RendezvousParameters& parameters,
                            std::shared_ptr<EtcdV2Client> client, std::shared_ptr<Store> job_store,
                            std::unique_ptr<HardenedLegacyEtcdRendezvous> rendezvous);

  GroupState group_state() override;
  /// Between two looks at the members nothing is asked, as under the dynamic rendezvous, which keeps
  /// what it has read for as long.
  [[nodiscard]] bool may_have_news() override;
  Successor successor() override;
  void when_waiting(std::function<void()> call) override;
  void when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) override;
  void when_closing_anew(std::function<void()> call) override;
  std::vector<std::int64_t> missing_ranks() override { return hardened_.missing_ranks(); }
  void group_formed() override { forming_ = false; }
  [[nodiscard]] std::optional<sim::Duration> outage_limit() const override;
  bool leave() override;
  bool shutdown() override;

 protected:
  std::shared_ptr<Store> round_store(std::int64_t round) override;
  void on_unreachable(const EtcdConnectionError& error) const override;

 private:
  void while_waiting();
  void close_persistently();

  HardenedLegacyEtcdRendezvous& hardened_;  ///< the rendezvous_
  sim::MonotonicTime next_look_{};          ///< for members that are gone
  bool forming_ = false;        ///< a round has been joined, and its ranks are not yet known
  sim::MonotonicTime heard_{};  ///< while it is forming: when the rendezvous last answered
};

}  // namespace hooke::model
