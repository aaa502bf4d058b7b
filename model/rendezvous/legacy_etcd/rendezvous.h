#pragma once
// The legacy rendezvous of PyTorch over etcd's v2 API: versions that are set up, joined, frozen,
// confirmed and final, with etcd's own time-to-live in place of heartbeats
// (torch/distributed/elastic/rendezvous/etcd_rendezvous.py:EtcdRendezvous).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/legacy_etcd/renewal.h"
#include "model/rendezvous/legacy_etcd/run.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct LegacyEtcdSettings {
  std::string prefix = "/torchelastic/p2p";  ///< must begin with "/", which no code checks (S-L14)
  std::string run_id;
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  sim::Duration timeout = std::chrono::seconds(600);  ///< of a whole barrier
  sim::Duration last_call = std::chrono::seconds(30);
  Variant variant = Variant::torch_2_x;
  PlantedSet planted{};
};

class LegacyEtcdRendezvous {
 public:
  struct Place {
    std::int64_t version = 0;
    std::int64_t rank = 0;
    std::int64_t world_size = 0;
  };

  /// Creates the run's directories. EtcdError, EtcdConnectionError.
  LegacyEtcdRendezvous(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                       LegacyEtcdSettings settings);
  ~LegacyEtcdRendezvous();
  LegacyEtcdRendezvous(const LegacyEtcdRendezvous&) = delete;
  LegacyEtcdRendezvous& operator=(const LegacyEtcdRendezvous&) = delete;

  /// Blocks until this node is in a final version. RendezvousClosedError, RendezvousTimeoutError
  /// (also for an etcd that cannot be reached), RendezvousError (S-L17). A caught signal is
  /// swallowed, unless it comes in the pause between two attempts (SignalException; S-L19).
  /// Hardened, it is always raised, and RendezvousGracefulExitError for who has waited beside a
  /// full version until the end of the job, as a spare of the dynamic rendezvous does.
  Place barrier();
  /// Hardened: called in barrier() whenever this node is about to wait beside a version that it has
  /// not been in.
  void when_waiting(std::function<void()> call) { when_waiting_ = std::move(call); }
  /// Hardened: see RendezvousHandler. It may raise whatever is tried again in barrier().
  void when_abandoned(std::function<bool(std::int64_t version)> was_the_end) {
    was_the_end_ = std::move(was_the_end);
  }
  /// False when there is no version at all. EtcdError, EtcdConnectionError, std::invalid_argument.
  bool is_closed();
  /// Nodes that wait for the active version to go. Hardened: 0 while its seats are all taken and
  /// none of its members is on its way back to it; and those who have joined the version that
  /// follows the one that barrier() returned, as long as that may still be joined.
  std::int64_t num_workers_waiting();
  /// Keep-alives of a final version that have not expired, but this node's.
  std::int64_t others_alive();
  /// Broken: the version that barrier() returned misses a member; over: it is no longer the active
  /// one.
  GroupState group_state();
  /// EtcdError kKeyNotFound: there is no version now.
  Successor successor();
  /// Ranks of that version, closed or not, whose keep-alives had expired when group_state() last
  /// looked.
  [[nodiscard]] const std::vector<std::int64_t>& missing_ranks() const { return missing_; }
  /// EtcdError kKeyNotFound when there is no version yet (S-L11).
  void set_closed();
  /// Hardened: takes this node off the run, which goes on. EtcdError, EtcdConnectionError.
  void leave();

  /// Where the version's store lies.
  [[nodiscard]] std::string store_path(std::int64_t version) const {
    return run_.store_path(version);
  }

 private:
  using Active = LegacyEtcdRun::Active;

  Place init_phase();
  /// False when a version is there already.
  bool try_create();
  /// Advances the counter of versions and makes the directory of the next one. RendezvousError when
  /// the counter is gone or another node has advanced it meanwhile; EtcdError for anything else
  /// that etcd refuses (etcd_rendezvous.py:try_create_rendezvous).
  std::int64_t next_version();
  /// Hardened: an etcd that has lost its keys begins again with versions that there were; who meets
  /// one of them that is still joinable takes it to where the versions go on.
  [[nodiscard]] bool was_before(std::int64_t version) const;
  /// What the active version's `state` is to the version that barrier() returned.
  [[nodiscard]] Successor successor_in(const LegacyState& state) const;
  Place join_phase(std::int64_t version);
  Active join(std::int64_t version, std::int64_t& rank);
  /// Hardened: where a member died after the last call, the version that follows is not kept open
  /// for as long again. All who came to the call that failed come at once.
  [[nodiscard]] sim::Duration span_of_call() const;
  void last_call(std::int64_t version, std::int64_t rank, sim::Duration deadline);
  void wait_for_peers(std::int64_t version, std::int64_t rank);
  /// Hardened: this is another version of the same number, begun in an etcd that had lost its data.
  [[nodiscard]] bool has_lost_place(const LegacyState& state, std::int64_t rank) const;
  void confirm(std::int64_t version, std::int64_t rank);
  std::int64_t wait_for_final(std::int64_t version);
  void handle_existing(std::int64_t version);
  /// Whether this node has been a member of `version`. Hardened, one of the same number that another
  /// node has begun in an etcd that had lost its data is none of its versions.
  bool was_in(std::int64_t version);
  void announce_waiting(std::int64_t version);
  void wait_to_be_free(std::int64_t version);
  /// False when somebody was faster.
  bool try_close(const Active& seen);
  bool replace_by_closed(const Active& seen);
  /// In an etcd that has lost its keys, before anybody begins anew there: no newcomer shall wait
  /// for members that are done. False when somebody was faster.
  bool try_close_anew();
  /// Hardened: this node was in a version of which etcd knows nothing any more, nor of any other.
  bool has_been_emptied();

  Active wait_for_change(std::uint64_t index, const std::string& path, sim::Duration at_most);
  /// RendezvousTimeoutError when the time of barrier() is over.
  void require_time() const;
  /// A pause. Hardened, there must be time for the attempt, too: behind a slow etcd each one takes
  /// seconds, and many may follow each other.
  void before_attempt();
  void cas_delay();
  void sleep(sim::Duration span);
  /// The clock that deadlines are read off: in PyTorch the wall clock, so that setting it ends or
  /// prolongs a rendezvous (S-L13); one that only runs in the hardened variant.
  [[nodiscard]] sim::Duration reading() const;
  [[nodiscard]] bool hardened() const { return settings_.variant == Variant::hardened; }

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;
  LegacyEtcdSettings settings_;
  LegacyEtcdRun run_;
  /// Hardened: the value of this node's keep-alives, which no other node has.
  std::string owner_;
  std::string own_keep_alive_;     ///< path of this node's key in the version it is in
  std::int64_t joining_ = 0;       ///< version that this node has joined in barrier(); 0: none
  std::int64_t waiting_ = 0;       ///< version beside which it is counted as waiting; 0: none
  std::int64_t held_version_ = 0;  ///< the one that barrier() has returned last; 0: none
  std::int64_t held_size_ = 0;     ///< members of the held version
  std::vector<std::int64_t> missing_;
  std::function<void()> when_waiting_;
  std::function<bool(std::int64_t)> was_the_end_;
  bool is_spare_ = false;     ///< has found, in this barrier(), a full version
  bool was_called_ = false;   ///< has come, in this barrier(), through the last call of a version
  sim::Duration deadline_{};  ///< a reading()
  std::unique_ptr<LegacyEtcdRenewal> rank_renewal_;
};

}  // namespace hooke::model
