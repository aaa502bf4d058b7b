#pragma once
// How a job tells a member that left politely from one that vanished: the first costs no restart.
//
// The rendezvous state is PyTorch's and has no field for it: a member that has taken itself off the
// lists looks like one that the others have given up.

#include <cstdint>
#include <memory>
#include <vector>

#include "model/store/store.h"

namespace hooke::model {

/// An agent says under keys of its own in the job's store that it leaves a round of its own accord:
/// because it is told to go ("left/ROUND" and "left/ROUND/RANK"), or in order to follow one that
/// was ("left/ROUND/RANK"). Agents of torch-2.x neither write nor read these.
class Departure {
 public:
  /// `store`: the job's; null where there is none: then no departure is polite.
  Departure(std::shared_ptr<Store> store, std::int64_t round)
      : store_(std::move(store)), round_(round) {}
  /// StoreError.
  void tell_of_order(std::int64_t rank);
  /// StoreError.
  void tell_of_following(std::int64_t rank);
  /// A member of the round has been told to go. StoreError.
  bool one_was_ordered();
  /// All of `ranks`, one at least, have left of their own accord. StoreError.
  bool have_all_left(const std::vector<std::int64_t>& ranks);

 private:
  /// Where there are no rounds (static) what was said once would be true for ever.
  [[nodiscard]] bool can_tell() const { return store_ != nullptr && round_ >= 0; }

  std::shared_ptr<Store> store_;
  std::int64_t round_;
};

}  // namespace hooke::model
