#pragma once
// The legacy rendezvous of PyTorch over etcd's v2 API: versions that are set up, joined, frozen,
// confirmed and final, with etcd's own time-to-live in place of heartbeats
// (torch/distributed/elastic/rendezvous/etcd_rendezvous.py:EtcdRendezvous).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/core/group_keeping.h"
#include "model/rendezvous/legacy_etcd/renewal.h"
#include "model/rendezvous/legacy_etcd/run.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "model/signals/signal_gate.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct LegacyEtcdSettings {
  std::string prefix = "/torchelastic/p2p";  ///< must begin with "/", which no code checks (S-L14)
  std::string run_id;
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  sim::Duration timeout = std::chrono::seconds(600);  ///< of a whole barrier
  sim::Duration last_call = std::chrono::seconds(30);
};

/// What is protected and virtual are the places where a node may do otherwise than PyTorch.
/// EtcdError and EtcdConnectionError wherever nothing else is said.
class LegacyEtcdRendezvous {
 public:
  struct Place {
    std::int64_t version = 0;
    std::int64_t rank = 0;
    std::int64_t world_size = 0;
  };

  LegacyEtcdRendezvous(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                       LegacyEtcdSettings settings, std::unique_ptr<LegacyEtcdRun> run);
  virtual ~LegacyEtcdRendezvous();
  LegacyEtcdRendezvous(const LegacyEtcdRendezvous&) = delete;
  LegacyEtcdRendezvous& operator=(const LegacyEtcdRendezvous&) = delete;

  /// Blocks until this node is in a final version. RendezvousClosedError, RendezvousTimeoutError
  /// (also for an etcd that cannot be reached), RendezvousError (S-L17). A caught signal is
  /// swallowed, unless it comes in the pause between two attempts (SignalException; S-L19).
  virtual Place barrier();
  /// False when there is no version at all. Also std::invalid_argument.
  bool is_closed();
  /// Nodes that wait for the active version to go.
  std::int64_t num_workers_waiting();
  /// The seats of a final version with a keep-alive that has not expired, but this node's.
  std::vector<Seat> others_alive();
  /// EtcdError kKeyNotFound when there is no version yet (S-L11).
  void set_closed();

  /// Where the version's store lies.
  [[nodiscard]] std::string store_path(std::int64_t version) const {
    return run_->store_path(version);
  }
  /// Makes its directory.
  void create_store(std::int64_t version) { run_->create_store(version); }

 protected:
  using Active = LegacyEtcdRun::Active;

  /// The phase did not come to its end; the barrier begins anew, at once or after a pause.
  struct RetryImmediately {};
  struct RetryableFailure {};

  // ---- the barrier ----
  virtual void begin_attempt() { rank_renewal_ = nullptr; }  // of the version before
  /// A signal was caught in an attempt.
  virtual void on_signal() {}
  /// Between two attempts. `has_changed`: another node was faster, or what was read has expired.
  virtual void pause(bool has_changed);
  [[nodiscard]] virtual sim::Duration retry_pause() const { return std::chrono::seconds(1); }

  // ---- its first phase ----
  Place init_phase();
  virtual void on_closed() {}
  /// A version is being set up or confirmed by others, as read at `index`.
  virtual void wait_for_others(std::uint64_t index);
  /// The version that this node has begun; nullopt when one is there already.
  std::optional<Active> try_create();
  /// This node sets it up: the others wait until it is there, or the time of that is over.
  virtual Active begin_version();
  /// Advances the counter of versions and makes the directory of the next one.
  std::int64_t next_version();
  /// RendezvousError when the counter is gone or another node has advanced it meanwhile; EtcdError
  /// for anything else that etcd refuses.
  virtual std::int64_t advance_counter();

  // ---- joining ----
  Place join_phase(std::int64_t version);
  virtual Active join(std::int64_t version, std::int64_t& rank);
  /// This node has found the version `seen` to join.
  virtual void before_joining(const Active& /*seen*/) {}
  /// It has been counted as that rank.
  virtual void after_joining(std::int64_t /*version*/, std::int64_t /*rank*/) {}
  /// The rank whose node makes the last call.
  [[nodiscard]] virtual std::int64_t last_caller() const { return settings_.min_nodes - 1; }
  [[nodiscard]] virtual sim::Duration last_call_span() const { return settings_.last_call; }
  virtual void before_last_call() {}
  void last_call(std::int64_t version, std::int64_t rank, sim::Duration deadline);
  void wait_for_peers(std::int64_t version, std::int64_t rank);
  /// While it waits, this node has read that state.
  virtual void check_place(const LegacyState& /*state*/, std::int64_t /*rank*/) {}

  // ---- confirming ----
  virtual Place confirm_phase(std::int64_t version, std::int64_t rank);
  void confirm(std::int64_t version, std::int64_t rank);
  /// The version is frozen, and this node is about to write its keep-alive.
  virtual void before_confirming(std::int64_t /*version*/, std::int64_t /*rank*/) {}
  [[nodiscard]] virtual bool all_have_confirmed(const LegacyState& state) const;
  virtual std::unique_ptr<LegacyEtcdRenewal> start_renewal(const std::string& keep_alive);
  [[nodiscard]] virtual sim::Duration renewal_interval() const { return kLegacyKeepAlive / 2; }
  /// Returns how many are in it.
  virtual std::int64_t wait_for_final(std::int64_t version);

  // ---- a version that is running ----
  virtual void handle_existing(std::int64_t version);
  /// Returns the state with this node counted.
  virtual LegacyState announce_waiting(std::int64_t version);
  virtual void wait_to_be_free(std::int64_t version);
  virtual void before_look() {}  // of each at a version that may become free
  /// For how long a change is waited for that may free the version `seen`; nullopt: it goes now.
  virtual std::optional<sim::Duration> stay_of(const Active& seen,
                                               const std::vector<std::string>& missing);
  /// False: look again.
  virtual bool set_free(const Active& seen, const std::vector<std::string>& missing);

  // ---- what others ask ----
  virtual std::int64_t waiting_in(const LegacyState& state);
  /// False when another node was faster.
  virtual bool try_close();
  bool replace_by_closed(const Active& seen);

  // ---- waiting ----
  virtual Active wait_for_change(std::uint64_t index, const std::string& path,
                                 sim::Duration at_most);
  /// Returns when something has changed since `index`, or the time is over.
  virtual void watch(std::uint64_t index, const std::string& path, sim::Duration at_most);
  /// RendezvousTimeoutError when the time of barrier() is over.
  void require_time() const;
  virtual void before_attempt() { cas_delay(); }  // of each to compare and swap
  void cas_delay();
  /// The clock that deadlines are read off: in PyTorch the wall clock, so that setting it ends or
  /// prolongs a rendezvous (S-L13).
  [[nodiscard]] virtual sim::Duration reading() const;

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;
  LegacyEtcdSettings settings_;
  std::unique_ptr<LegacyEtcdRun> run_;
  std::string own_keep_alive_;  ///< path of this node's key in the version it is in
  sim::Duration deadline_{};    ///< a reading()
  std::unique_ptr<LegacyEtcdRenewal> rank_renewal_;
};

}  // namespace hooke::model
