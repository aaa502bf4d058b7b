#pragma once
// What etcd has been seen to do against what a client may expect, as modes of the simulated servers
// that a test or a fault switches on and off while they run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace hooke::model {

class EtcdMisbehaviour {
 public:
  enum class Mode : unsigned char {
    /// Nothing expires: a lease ends no sooner than its time, and each new leader begins to count
    /// anew (etcd-io/etcd#9395).
    late_expiry,
    /// Reads and watches see what stood there in the beginning, while writes go through: a member
    /// that was paused lags behind (etcd-io/etcd#20418; of v2 #741, unless it is read by quorum).
    stale_read,
    /// Every revision is compacted as soon as there is a later one, and v2 forgets all changes but
    /// the last: a client that watches from an earlier one is told that it is gone.
    compaction,
    /// There is no leader: what needs one is refused, whole transactions, and leases do not end.
    /// The leader that comes counts all leases anew.
    leader_loss,
    /// Writes are carried out, and answered as if the time for them had run out.
    unknown_outcome,
    /// Watchers are told of each change twice (etcd-io/etcd#17247).
    duplicate_events,
  };

  /// Switches a mode on; it ends when all that began it have ended it. `felt` counts where it has
  /// made a difference from now on, and must live as long as this.
  void begin(Mode mode, std::uint64_t& felt);
  void end(Mode mode);
  /// All leases and all that lives for a time end now (etcd-io/etcd#15247).
  void expire(std::uint64_t& felt);

  // The server's side.
  [[nodiscard]] bool on(Mode mode) const { return of(mode).depth > 0; }
  /// It is on, and makes a difference now.
  bool strikes(Mode mode);
  /// True once for each expire(); `count` things end of it.
  bool take_expiry(std::size_t count);
  /// Calls `changed` after each change, until the next call of this.
  void observe(std::function<void()> changed) { changed_ = std::move(changed); }

 private:
  struct State {
    std::int64_t depth = 0;
    std::uint64_t* felt = nullptr;
  };
  [[nodiscard]] const State& of(Mode mode) const { return modes_[static_cast<std::size_t>(mode)]; }
  State& of(Mode mode) { return modes_[static_cast<std::size_t>(mode)]; }

  std::array<State, 6> modes_{};
  std::uint64_t* expiry_ = nullptr;
  std::function<void()> changed_;
};

/// "leader_loss"
std::string_view to_string(EtcdMisbehaviour::Mode mode);

}  // namespace hooke::model
