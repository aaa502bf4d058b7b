#pragma once
// The problem: the exit barrier counts its members, and an agent whose reply to that is lost neither
// knows whether it has been counted nor may count again (S-2, A-8): the others wait for it until
// their time-out. A hardened agent counts as all agents do, and signs with its rank besides.

#include <cstdint>
#include <string>
#include <vector>

#include "model/store/store.h"

namespace hooke::model {

class ExitBarrier {
 public:
  /// Of `size` agents, under `prefix` in the round's `store`, which must outlive it; this one has
  /// `rank`.
  ExitBarrier(Store& store, std::int64_t rank, std::int64_t size, std::string prefix);

  /// This agent is done. StoreError when that could not be said.
  void arrive();
  /// This agent's signature is there. StoreNetworkError.
  bool has_come();
  /// So are those of all: the job is done. While one is missing, the store is asked for one key.
  /// StoreNetworkError.
  bool have_all_come();
  /// This agent goes back to work with the others, which want another round. StoreError.
  void leave();
  /// What leave() said was said in the barrier of another group. StoreError.
  void take_back_leaving();
  /// One at least has done so. StoreError.
  bool has_been_left();
  /// It was open, and no agent has gone back to work. StoreError.
  bool has_been_passed();
  /// Waits `at_most` for the others. An agent that finds all signatures there opens the barrier for
  /// those that only count. StoreNetworkError.
  bool is_open(sim::Duration at_most);
  /// Whether all of `ranks`, which have gone, may have been done: they have signed, or an agent
  /// counts that does not sign (torch-2.x), so that it is unknown. StoreError.
  bool may_have_seen(const std::vector<std::int64_t>& ranks);

 private:
  [[nodiscard]] std::string signature(std::int64_t rank) const;
  /// The signatures of all ranks from `first` to before `end` are there. StoreNetworkError.
  bool have_come(std::int64_t first, std::int64_t end);
  [[nodiscard]] std::string signed_count() const { return prefix_ + "/num_done"; }
  [[nodiscard]] std::string left() const { return prefix_ + "/left"; }

  Store& store_;
  std::int64_t rank_;
  std::int64_t size_;
  std::string prefix_;
  /// All ranks before this one have come, in whatever store that was.
  std::int64_t awaited_ = 0;
};

}  // namespace hooke::model
