#pragma once
// Pending timers in order of (time, order of arming). Virtual time never goes back, so a radix heap
// does it in amortised constant time per timer, and, because equal times always share a bucket and
// buckets are split in order, first-armed-first-fired comes for free without sequence numbers
// (Ahuja et al., "Faster algorithms for the shortest path problem", 1990).

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/port/check.h"

namespace hooke::kernel {

class TimerQueue {
 public:
  struct Due {
    std::int64_t time;  ///< nanoseconds of world time
    Callback callback;
    sim::EventId cause;
  };

  /// Arms a timer at `time`. When a run was cut at its limit the queue has looked further ahead
  /// than the clock shows: what is armed between the two (while the world is taken down) counts as
  /// due at the queue's time.
  TimerId arm(std::int64_t time, const Callback& callback, sim::EventId cause) {
    HOOKE_CHECK(time >= 0, "no timer is due before the run begins");
    time = std::max(time, last_);
    std::uint32_t slot = free_;
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      free_ = slots_[slot].next_free;
      HOOKE_CHECK(free_ == kNone || free_ < slots_.size(), "a free slot is one of the queue");
    }
    Slot& timer = slots_[slot];
    timer.callback = callback;
    timer.cause = cause;
    push(Entry{time, slot, timer.generation});
    ++live_;
    return {slot, timer.generation};
  }

  /// True if the timer was pending.
  bool cancel(TimerId timer) {
    if (timer.slot >= slots_.size() || slots_[timer.slot].generation != timer.generation)
      return false;
    HOOKE_CHECK(live_ > 0, "a pending timer is counted");
    release(timer.slot);
    if (++stale_ > live_ + 4096) drop_stale();
    return true;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }

  /// When the earliest timer is due. Unlike pop() this leaves the queue's own time alone, so that
  /// earlier ones may still be armed.
  [[nodiscard]] std::optional<std::int64_t> next_time() const {
    for (std::size_t i = head_; i < buckets_[0].size(); ++i) {
      if (is_live(buckets_[0][i])) return buckets_[0][i].time;
    }
    for (std::uint64_t left = filled_ & ~std::uint64_t{1}; left != 0; left &= left - 1) {
      std::optional<std::int64_t> earliest;
      for (const Entry& entry : buckets_[static_cast<std::size_t>(std::countr_zero(left))]) {
        if (is_live(entry) && (!earliest || entry.time < *earliest)) earliest = entry.time;
      }
      if (earliest) return earliest;
    }
    return std::nullopt;
  }

  /// Removes and returns the earliest timer; requires !empty().
  Due pop() {
    HOOKE_CHECK(live_ > 0, "only a queue with a pending timer has an earliest one");
    for (;;) {
      if (head_ == buckets_[0].size()) refill();
      const Entry entry = buckets_[0][head_++];
      if (slots_[entry.slot].generation != entry.generation) {
        HOOKE_CHECK(stale_ > 0, "a cancelled timer is counted until it is dropped");
        --stale_;
        continue;
      }
      HOOKE_CHECK(entry.time == last_, "the first bucket holds what is due now");
      const Slot& timer = slots_[entry.slot];
      const Due due{entry.time, timer.callback, timer.cause};
      release(entry.slot);
      return due;
    }
  }

  /// Forgets everything and starts again at time 0.
  void clear() {
    for (auto& bucket : buckets_) bucket.clear();
    slots_.clear();
    free_ = kNone;
    filled_ = 0;
    head_ = 0;
    last_ = 0;
    live_ = 0;
    stale_ = 0;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  struct Entry {
    std::int64_t time;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Slot {
    Callback callback;
    sim::EventId cause;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
  };

  void release(std::uint32_t slot) {
    ++slots_[slot].generation;
    slots_[slot].next_free = free_;
    free_ = slot;
    --live_;
  }

  void push(const Entry& entry) {
    HOOKE_CHECK(entry.time >= last_, "a timer is never filed before the present");
    const auto difference = static_cast<std::uint64_t>(entry.time ^ last_);
    const auto bucket = static_cast<std::size_t>(std::bit_width(difference));
    buckets_[bucket].push_back(entry);
    filled_ |= std::uint64_t{1} << bucket;
  }

  [[nodiscard]] bool is_live(const Entry& entry) const {
    return slots_[entry.slot].generation == entry.generation;
  }

  /// Moves the earliest non-empty bucket down so that bucket 0 holds the entries of the next time.
  void refill() {
    buckets_[0].clear();
    head_ = 0;
    filled_ &= ~std::uint64_t{1};
    while ((filled_ & 1U) == 0) {
      HOOKE_CHECK(filled_ != 0, "a pending timer must be in some bucket");
      const auto lowest = static_cast<std::size_t>(std::countr_zero(filled_));
      filled_ &= ~(std::uint64_t{1} << lowest);
      moving_.swap(buckets_[lowest]);
      std::int64_t earliest = INT64_MAX;
      for (const Entry& entry : moving_) {
        if (is_live(entry) && entry.time < earliest) earliest = entry.time;
      }
      HOOKE_CHECK(earliest >= last_, "time does not go back");
      if (earliest != INT64_MAX) last_ = earliest;
      for (const Entry& entry : moving_) {
        if (is_live(entry)) {
          push(entry);
        } else {
          --stale_;
        }
      }
      moving_.clear();
    }
  }

  void drop_stale() {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      auto& bucket = buckets_[i];
      const std::size_t begin = i == 0 ? head_ : 0;
      std::size_t kept = begin;
      for (std::size_t j = begin; j < bucket.size(); ++j) {
        if (is_live(bucket[j])) bucket[kept++] = bucket[j];
      }
      bucket.resize(kept);
      if (kept == begin && i > 0) filled_ &= ~(std::uint64_t{1} << i);
    }
    stale_ = 0;
  }

  // Times are non-negative 63-bit numbers, so there are 64 possible highest differing bits, 0
  // included.
  std::array<std::vector<Entry>, 64> buckets_;
  std::vector<Entry> moving_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::uint64_t filled_ = 0;  ///< bit i: bucket i is not empty
  std::size_t head_ = 0;      ///< next entry of bucket 0
  std::int64_t last_ = 0;     ///< the time bucket 0 belongs to
  std::size_t live_ = 0;
  std::size_t stale_ = 0;  ///< cancelled entries still in buckets
};

}  // namespace hooke::kernel
