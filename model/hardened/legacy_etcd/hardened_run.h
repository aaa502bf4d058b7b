#pragma once
// The problem: PyTorch's agents only count in etcd. Two take one place when etcd has lost its keys
// versions begin anew there, no agent can tell its key from another's, members that wait
// for the next version look like newcomers, and one to which etcd says nothing asks until its time
// to join is over.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/legacy_etcd/run.h"

namespace hooke::model {

/// The directories are renewed through any failure. Beside PyTorch's keys lie some that only
/// hardened agents write and read; PyTorch's agents mind none of them.
class HardenedLegacyEtcdRun final : public LegacyEtcdRun {
 public:
  HardenedLegacyEtcdRun(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, std::string prefix,
                        const std::string& run_id);

  Active read() override;
  /// Likewise in an etcd that has lost its counter.
  std::int64_t advance_counter() override;
  /// An attempt to join has failed; `was_answered`: by what etcd said. RendezvousConnectionError when
  /// none has read anything for `limit`: etcd has gone, or has no leader.
  void require_answers(sim::MonotonicTime now, sim::Duration limit, bool was_answered);
  /// remove(); false when another node was faster, true also when it is gone.
  bool try_remove(const Active& seen);
  /// Of all versions that this node has read.
  [[nodiscard]] std::int64_t latest_seen() const { return latest_seen_; }
  /// There is neither an active version nor a counter of them.
  bool has_been_emptied();

  // ---- members of a version ----
  /// Holds a place in a version that is still forming; through a short outage, or the version would be
  /// lost to all for ten seconds. False when it is another node's.
  bool claim(std::int64_t version, std::int64_t rank);
  /// claim() has been called for that place, in this etcd, and it is not another's. Likewise.
  bool holds_claim(std::int64_t version, std::int64_t rank);
  /// The member goes now; nothing when the key is not there, or is another's.
  void drop_keep_alive(const std::string& keep_alive);
  /// The key is there, and another node has written it.
  bool is_of_another(const std::string& keep_alive);
  /// Those of a version's keep-alives that are not there. nullopt: `own` is there, and another node
  /// has written it: the version is none of this node's.
  std::optional<std::vector<std::string>> expired_beside(std::int64_t version,
                                                         std::vector<std::string> keep_alives,
                                                         const std::string& own);
  /// The member with this keep-alive waits for the next version.
  void tell_return(std::int64_t version, const std::string& keep_alive);
  /// One of them has told so.
  bool one_returns(std::int64_t version) { return client_->has(return_path(version)); }
  /// Of the members with these keep-alives, one waits for the next version, and another lives that
  /// does not yet: it may be stopping its workers.
  bool some_will_return(std::int64_t version, const std::vector<std::string>& keep_alives);

 protected:
  /// Above all that this node has seen.
  [[nodiscard]] std::int64_t version_after(std::int64_t latest) const override;
  [[nodiscard]] std::string keep_alive_value() const override { return owner_; }

 private:
  [[nodiscard]] std::string claim_path(std::int64_t version, std::int64_t rank) const;
  [[nodiscard]] std::string return_path(std::int64_t version) const;

  std::string owner_;  ///< the value of this node's keys, which no other node has
  std::int64_t latest_seen_ = 0;
  bool was_answered_ = false;  ///< has read the active version since require_answers()
  std::optional<sim::MonotonicTime> silent_since_;
};

}  // namespace hooke::model
