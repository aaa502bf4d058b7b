#pragma once
// Where a run of the legacy rendezvous keeps what in etcd, and how it is read and written. Each of
// these is a request or a few, and decides nothing: what they mean to a node is
// rendezvous.h (etcd_rendezvous.py:EtcdRendezvous).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/legacy_etcd/renewal.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// For how long a keep-alive lives that no agent renews, whatever was configured.
inline constexpr sim::Duration kLegacyKeepAlive = std::chrono::seconds(10);

/// EtcdError and EtcdConnectionError wherever nothing else is said.
class LegacyEtcdRun {
 public:
  /// The state of the run, under one key: which version is the active one, and how it stands.
  struct Active {
    LegacyState state;
    std::string text;         ///< as it stands in etcd
    std::uint64_t index = 0;  ///< of the whole store when it was read
  };

  /// Creates the run's directories, which live for two hours after the last renewal, and its
  /// counter of versions. `prefix` must begin with "/", which no code checks (S-L14).
  LegacyEtcdRun(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix,
                const std::string& run_id, Variant variant);

  /// Above all that a rendezvous writes.
  [[nodiscard]] std::string rendezvous_path() const { return path("/rdzv"); }

  // ---- the active version ----
  [[nodiscard]] std::string active_path() const { return path("/rdzv/active_version"); }
  /// std::invalid_argument, SignalException.
  Active read();
  /// False when there is a state already. `ttl` in seconds.
  bool create(const LegacyState& state, std::int64_t ttl);
  /// Replaces the text that was read; false when somebody was faster. `ttl` 0: for good.
  bool replace(const Active& seen, const LegacyState& state, std::int64_t ttl = 0);
  void remove(const Active& seen);
  /// Likewise; false when somebody was faster, true also when it is gone.
  bool try_remove(const Active& seen);

  // ---- versions ----
  /// The number of the next version, which no other agent gets; hardened, above all that this node
  /// has seen, also in an etcd that has lost its counter.
  std::int64_t advance_counter();
  /// Of all that this node has read.
  [[nodiscard]] std::int64_t latest_seen() const { return latest_seen_; }
  void create_version(std::int64_t version) { create_directory(version_path(version), 0); }
  /// Where the version's store lies.
  [[nodiscard]] std::string store_path(std::int64_t version) const;
  /// There is neither an active version nor a counter of them.
  bool has_been_emptied();

  // ---- members of a version ----
  /// Hardened: holds a place in a version that is still forming, where PyTorch only counts. False
  /// when the place is another's.
  bool claim(std::int64_t version, std::int64_t rank, const std::string& owner);
  /// Hardened: claim() has been called for that place, in this etcd, and it is not another's.
  bool holds_claim(std::int64_t version, std::int64_t rank, const std::string& owner);
  /// Path of a member's key, which lives for kLegacyKeepAlive.
  [[nodiscard]] std::string keep_alive_path(std::int64_t version, std::int64_t rank) const;
  /// `owner`: its value, which no other code reads; in PyTorch it has none.
  void put_keep_alive(const std::string& keep_alive, const std::string& owner);
  /// The member goes now; nothing when the key is not there, or is another's.
  void drop_keep_alive(const std::string& keep_alive, const std::string& owner);
  /// The key is there, and its owner is another.
  bool is_of_another(const std::string& keep_alive, const std::string& owner);
  /// Those of these keep-alives that are not there.
  std::vector<std::string> expired(std::int64_t version, std::vector<std::string> keep_alives);
  /// Hardened: the member with this keep-alive waits for the next version.
  void tell_return(std::int64_t version, const std::string& keep_alive);
  /// Hardened: one of them has told so. EtcdError kKeyNotFound: none.
  void require_return(std::int64_t version);
  /// Hardened: of the members with these keep-alives, one waits for the next version, and another
  /// lives that does not yet: it may be stopping its workers.
  bool some_will_return(std::int64_t version, const std::vector<std::string>& keep_alives);

 private:
  void create_directory(const std::string& path, std::int64_t ttl);
  void create_counter();
  bool exists(const std::string& key);
  [[nodiscard]] std::string path(const std::string& name) const { return run_path_ + name; }
  [[nodiscard]] std::string counter_path() const { return path("/rdzv/version_counter"); }
  [[nodiscard]] std::string version_path(std::int64_t version) const;
  [[nodiscard]] std::string return_path(std::int64_t version) const;

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;
  Variant variant_;
  std::string run_path_;
  std::int64_t latest_seen_ = 0;
  std::unique_ptr<LegacyEtcdRenewal> renewal_;
};

}  // namespace hooke::model
