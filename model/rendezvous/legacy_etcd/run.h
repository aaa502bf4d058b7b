#pragma once
// Where a run of the legacy rendezvous keeps what in etcd, and how it is read and written. Each of
// these is a request or a few, and decides nothing: what they mean to a node is
// rendezvous.h (etcd_rendezvous.py:EtcdRendezvous).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/legacy_etcd/renewal.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// For how long a keep-alive lives that no agent renews, whatever was configured.
inline constexpr sim::Duration kLegacyKeepAlive = std::chrono::seconds(10);

/// EtcdError and EtcdConnectionError wherever nothing else is said.
class LegacyEtcdRun {
 public:
  /// The state of the run, under one key: which version is the active one, and how it stands.
  struct Active {
    std::shared_ptr<const LegacyState> state;  ///< of all that read the same; null: not read yet
    std::string text;                          ///< as it stands in etcd
    std::uint64_t index = 0;                   ///< of the whole store when it was read or written
  };

  /// Creates the run's directories, which live for two hours after the last renewal, and its
  /// counter of versions. `prefix` must begin with "/", which no code checks (S-L14).
  LegacyEtcdRun(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix,
                const std::string& run_id,
                LegacyEtcdRenewal::AfterError after_error = &LegacyEtcdRenewal::ends);
  virtual ~LegacyEtcdRun() = default;
  LegacyEtcdRun(const LegacyEtcdRun&) = delete;
  LegacyEtcdRun& operator=(const LegacyEtcdRun&) = delete;

  /// Above all that a rendezvous writes.
  [[nodiscard]] std::string rendezvous_path() const { return path("/rdzv"); }

  // ---- the active version ----
  [[nodiscard]] std::string active_path() const { return path("/rdzv/active_version"); }
  /// std::invalid_argument, SignalException.
  virtual Active read();
  /// False when there is a state already. `ttl` in seconds.
  bool create(const LegacyState& state, std::int64_t ttl);
  /// Replaces the text that was read, and returns what stands there now; nullopt when another node
  /// was faster. `ttl` 0: for good.
  std::optional<Active> replaced(const Active& seen, const LegacyState& state,
                                 std::int64_t ttl = 0);
  bool replace(const Active& seen, const LegacyState& state, std::int64_t ttl = 0);
  void remove(const Active& seen);

  // ---- versions ----
  /// The number of the next version, which no other agent gets.
  virtual std::int64_t advance_counter();
  void create_version(std::int64_t version) { create_directory(version_path(version), 0); }
  /// Where the version's store lies.
  [[nodiscard]] std::string store_path(std::int64_t version) const;
  /// Makes the directory of the version's store.
  void create_store(std::int64_t version) { create_directory(store_path(version), 0); }

  // ---- members of a version ----
  /// Path of a member's key, which lives for kLegacyKeepAlive.
  [[nodiscard]] std::string keep_alive_path(std::int64_t version, std::int64_t rank) const;
  void put_keep_alive(const std::string& keep_alive);
  /// Those of these keep-alives that are not there.
  std::vector<std::string> expired(std::int64_t version, std::vector<std::string> keep_alives);
  /// Those of these ranks whose keep-alives are there.
  std::vector<std::int64_t> ranks_alive(std::int64_t version, std::vector<std::int64_t> ranks);

 protected:
  /// The one that follows the `latest` of the counter.
  [[nodiscard]] virtual std::int64_t version_after(std::int64_t latest) const { return latest + 1; }
  /// What stands in this node's keep-alives, which PyTorch never reads.
  [[nodiscard]] virtual std::string keep_alive_value() const { return ""; }
  static bool has(const EtcdV2Answer& listed, const std::string& key);
  void create_counter();
  [[nodiscard]] std::string counter_path() const { return path("/rdzv/version_counter"); }
  [[nodiscard]] std::string version_path(std::int64_t version) const;

  sim::Ports& ports_;
  std::shared_ptr<EtcdV2Client> client_;

 private:
  /// The store's index when `text` was written in place of what was read; nullopt as above.
  std::optional<std::uint64_t> rewritten(const Active& seen, const std::string& text,
                                         std::int64_t ttl);
  void create_directory(const std::string& path, std::int64_t ttl);
  [[nodiscard]] std::string path(const std::string& name) const { return run_path_ + name; }

  std::string run_path_;
  std::unique_ptr<LegacyEtcdRenewal> renewal_;
};

}  // namespace hooke::model
