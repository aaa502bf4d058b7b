// Signatures first and last: they may be written twice, and an agent that has none counts itself
// anew.
#include "model/hardened/agent/exit_barrier.h"

#include <algorithm>
#include <utility>

#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {

ExitBarrier::ExitBarrier(Store& store, std::int64_t rank, std::int64_t size, std::string prefix)
    : store_(store), rank_(rank), size_(size), prefix_(std::move(prefix)) {
  HOOKE_CHECK(size_ >= 0 && !prefix_.empty(),
              "the barrier's prefix is not empty, and its size is not negative");
}

std::string ExitBarrier::signature(std::int64_t rank) const {
  return prefix_ + "/done/" + std::to_string(rank);
}

bool ExitBarrier::have_come(std::int64_t first, std::int64_t end) {
  HOOKE_CHECK(first < end && end <= size_,
              "the asked ranks are a non-empty range below the barrier's size");
  std::vector<std::string> keys;
  for (std::int64_t rank = first; rank < end; ++rank) keys.push_back(signature(rank));
  return store_.check(keys);
}

void ExitBarrier::arrive() {
  HOOKE_CHECK(size_ >= 1, "the barrier's size is at least 1 when an agent arrives");
  store_.set(signature(rank_), Value("1"));
  try {
    store_.add(signed_count(), 1);
    static_cast<void>(model::arrive(store_, size_, prefix_));
  } catch (const StoreError& error) {
    if (!error.outcome_unknown()) throw;
  }
  // Again: a store that came up empty before the count would have that and no signature.
  store_.set(signature(rank_), Value("1"));
}

bool ExitBarrier::has_come() {
  return store_.check({signature(rank_)});
}

/// Thousands of agents that each ask for all ranks at each look would be too much for their store.
bool ExitBarrier::have_all_come() {
  HOOKE_CHECK(size_ >= 1, "the barrier's size is at least 1 when it is asked for all");
  if (awaited_ == size_) return true;
  if (!have_come(awaited_, awaited_ + 1)) return false;
  if (++awaited_ == size_ || have_come(awaited_, size_)) {
    awaited_ = size_;
    return true;
  }
  for (std::int64_t end = size_; end - awaited_ > 1;) {
    const std::int64_t middle = awaited_ + (end - awaited_) / 2;
    (have_come(awaited_, middle) ? awaited_ : end) = middle;
  }
  return false;
}

void ExitBarrier::leave() {
  store_.set(left(), Value("1"));
}

void ExitBarrier::take_back_leaving() {
  store_.set(left(), Value("0"));
}

/// A sum, since a read would wait for the key where the store has come up empty meanwhile.
bool ExitBarrier::has_been_left() {
  return store_.check({left()}) && store_.add(left(), 0) > 0;
}

bool ExitBarrier::has_been_passed() {
  return store_.check({barrier_sign(prefix_)}) && !has_been_left();
}

bool ExitBarrier::is_open(sim::Duration at_most) {
  HOOKE_CHECK(at_most >= sim::Duration::zero(), "the longest wait is not negative");
  try {
    store_.wait({barrier_sign(prefix_)}, at_most);
    return true;
  } catch (const StoreTimeoutError&) {
    // The signatures tell.
  }
  if (!have_all_come()) return false;
  give_barrier_sign(store_, prefix_);
  return true;
}

bool ExitBarrier::may_have_seen(const std::vector<std::int64_t>& ranks) {
  if (!store_.check({barrier_count(prefix_)})) return false;  // no agent is done
  if (ranks.empty()) return true;
  const bool all_have_signed = std::all_of(ranks.begin(), ranks.end(), [&](std::int64_t rank) {
    return store_.check({signature(rank)});
  });
  return all_have_signed || store_.add(barrier_count(prefix_), 0) > store_.add(signed_count(), 0);
}

}  // namespace hooke::model
