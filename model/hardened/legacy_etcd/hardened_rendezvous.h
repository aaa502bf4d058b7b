#pragma once
// The problem: agents of the legacy rendezvous do not know each other again. An etcd that has lost
// its keys takes versions back, a member on its way back is left out, a spare waits for an
// end that it does not hear of, a signal is swallowed (S-L19), and setting the clock ends a barrier
// or prolongs it (S-L13).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/hardened/legacy_etcd/hardened_run.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"

namespace hooke::model {

/// barrier() always raises a caught signal, and RendezvousGracefulExitError on a node that has
/// waited beside a full version until the end of the job, as a spare of the dynamic rendezvous
/// does. num_workers_waiting() is 0 while all seats are taken and no member is on its way back; it
/// counts the nodes that have joined the version behind the one that barrier() returned, as long
/// as that may still be joined.
class HardenedLegacyEtcdRendezvous : public LegacyEtcdRendezvous {
 public:
  HardenedLegacyEtcdRendezvous(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                               LegacyEtcdSettings settings,
                               std::unique_ptr<HardenedLegacyEtcdRun> run);

  /// Also RendezvousConnectionError, when etcd has told nothing for as long as is endured.
  Place barrier() override;
  /// For how long an etcd that has gone, or has no leader, is asked again in barrier(): a job that has
  /// ended meanwhile could not tell so.
  void endure(sim::Duration outage) { endures_ = outage; }
  /// Called in barrier() whenever this node is about to wait beside a version that it has not been
  /// in.
  void when_waiting(std::function<void()> call) { when_waiting_ = std::move(call); }
  /// See RendezvousHandler. It may raise whatever is tried again in barrier().
  void when_abandoned(std::function<bool(std::int64_t version)> was_the_end) {
    was_the_end_ = std::move(was_the_end);
  }
  /// See RendezvousHandler.
  void when_closing_anew(std::function<void()> call) { when_closing_anew_ = std::move(call); }
  /// Broken: the version that barrier() returned misses a member; over: it is no longer the active
  /// one, which may have the same number.
  GroupState group_state();
  /// Ranks of that version, closed or not, whose keep-alives had expired when group_state() last
  /// looked.
  [[nodiscard]] const std::vector<std::int64_t>& missing_ranks() const { return missing_; }
  /// EtcdError kKeyNotFound: there is no version now.
  Successor successor();
  /// Takes this node off the run, which goes on.
  void leave();

 protected:
  void begin_attempt() override;
  void on_signal() override;
  void pause(bool has_changed) override;
  void on_closed() override;
  void wait_for_others(std::uint64_t index) override;
  Active begin_version() override;
  std::int64_t advance_counter() override;
  Active join(std::int64_t version, std::int64_t& rank) override;
  void before_joining(const Active& seen) override;
  void after_joining(std::int64_t version, std::int64_t rank) override;
  void before_last_call() override;
  [[nodiscard]] sim::Duration last_call_span() const override;
  void check_place(const LegacyState& state, std::int64_t rank) override;
  Place confirm_phase(std::int64_t version, std::int64_t rank) override;
  void before_confirming(std::int64_t version, std::int64_t rank) override;
  std::unique_ptr<LegacyEtcdRenewal> start_renewal(const std::string& keep_alive) override;
  std::int64_t wait_for_final(std::int64_t version) override;
  void handle_existing(std::int64_t version) override;
  LegacyState announce_waiting(std::int64_t version) override;
  void wait_to_be_free(std::int64_t version) override;
  void before_look() override { require_time(); }
  std::optional<sim::Duration> stay_of(const Active& seen,
                                       const std::vector<std::string>& missing) override;
  bool set_free(const Active& seen, const std::vector<std::string>& missing) override;
  std::int64_t waiting_in(const LegacyState& state) override;
  bool try_close() override;
  Active wait_for_change(std::uint64_t index, const std::string& path,
                         sim::Duration at_most) override;
  void watch(std::uint64_t index, const std::string& path, sim::Duration at_most) override;
  void before_attempt() override;
  [[nodiscard]] sim::Duration reading() const override;

 private:
  [[nodiscard]] bool was_before(std::int64_t version) const;
  /// What the active version's `state` is to the version that barrier() returned.
  [[nodiscard]] Successor successor_in(const LegacyState& state) const;
  bool was_in(std::int64_t version);
  bool try_close_anew();
  void pause_without_news(bool at_once);
  bool has_been_emptied();

  HardenedLegacyEtcdRun& keys_;    ///< the run_
  std::int64_t joining_ = 0;       ///< version that this node has joined in barrier(); 0: none
  std::int64_t waiting_ = 0;       ///< version beside which it is counted as waiting; 0: none
  std::int64_t held_version_ = 0;  ///< the one that barrier() has returned last; 0: none
  std::int64_t held_size_ = 0;     ///< members of the held version
  std::vector<std::int64_t> missing_;
  std::function<void()> when_waiting_;
  std::function<bool(std::int64_t)> was_the_end_;
  std::function<void()> when_closing_anew_;
  sim::Duration endures_ = std::chrono::seconds(60);
  std::int64_t without_news_ = 0;            ///< watches in a row that ended at once
  bool is_spare_ = false;                    ///< has found, in this barrier(), a full version
  bool was_called_ = false;                  ///< has come, in this barrier(), through a last call
  std::optional<sim::Duration> held_until_;  ///< a reading(): till then a version is left to others
};

}  // namespace hooke::model
