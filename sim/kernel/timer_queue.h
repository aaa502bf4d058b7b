#pragma once
// Pending timers in order of (time, order of arming). Virtual time never goes back, so a radix heap
// does it in amortised constant time per timer, and, because equal times always share a bucket and
// buckets are split in order, first-armed-first-fired comes for free without sequence numbers
// (Ahuja et al., "Faster algorithms for the shortest path problem", 1990). A bucket of a few timers
// is not split further: it becomes the *near* timers, sorted, from which most timers fire.

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
    timer.order = number();
    const Entry entry{time, slot, timer.generation};
    if (time < near_end_) {
      add_near(entry);
    } else {
      push(entry);
    }
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

  /// The next in the order of arming: for what waits for a time elsewhere, in this order, too.
  std::uint64_t number() { return armed_++; }

  /// Whether no timer fires before one armed for `time` would that had the number `order`. None is
  /// armed for earlier than `time` afterwards if so. If not, the next pop() gives a timer that does.
  bool fires_none_before(std::int64_t time, std::uint64_t order) {
    for (;;) {
      if (head_ < near_.size() ? near_[head_].time > time : earliest_in_buckets() > time)
        return true;
      if (head_ == near_.size()) {
        refill(time);
      } else if (is_gone(near_[head_])) {
        ++head_;
      } else {
        return near_[head_].time == time && slots_[near_[head_].slot].order > order;
      }
    }
  }

  /// When the earliest timer is due. Unlike pop() this leaves the queue's own time alone, so that
  /// earlier ones may still be armed.
  [[nodiscard]] std::optional<std::int64_t> next_time() const {
    for (std::size_t i = head_; i < near_.size(); ++i) {
      if (is_live(near_[i])) return near_[i].time;
    }
    for (std::uint64_t left = filled_; left != 0; left &= left - 1) {
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
    static_cast<void>(fires_none_before(INT64_MAX, UINT64_MAX));
    const Entry entry = near_[head_++];
    HOOKE_CHECK(entry.time >= last_, "time does not go back");
    last_ = entry.time;
    const Slot& timer = slots_[entry.slot];
    const Due due{entry.time, timer.callback, timer.cause};
    release(entry.slot);
    return due;
  }

  /// Time has come to `time`, before which no timer fires.
  void go_on_to(std::int64_t time) {
    HOOKE_CHECK(time >= last_, "time does not go back");
    last_ = time;
  }

  /// Tells `far` and then `near` once of each of the next timers, ahead of its turn or as soon as it
  /// is known: what it leads to can be on its way into the caches by then. A hint: what is armed
  /// among the next ones is not told, and a cancelled one may be.
  template <class Far, class Near>
  void look_ahead(Far far, Near near) {
    const auto tell = [this](std::size_t& told, std::size_t places, const auto& hint) {
      const std::size_t end = std::min(near_.size(), head_ + places);
      for (told = std::max(told, head_); told < end; ++told)
        hint(slots_[near_[told].slot].callback);
    };
    tell(told_far_, kFar, far);
    tell(told_near_, kNear, near);
  }

  /// Forgets everything and starts again at time 0.
  void clear() {
    for (auto& bucket : buckets_) bucket.clear();
    near_.clear();
    slots_.clear();
    free_ = kNone;
    filled_ = armed_ = 0;
    restart_near();
    base_ = near_end_ = last_ = 0;
    live_ = 0;
    stale_ = 0;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  /// A bucket of so many timers becomes the near ones; among twice as many none is sorted in.
  static constexpr std::size_t kFew = 32;
  /// How far look_ahead looks.
  static constexpr std::size_t kFar = 8;
  static constexpr std::size_t kNear = 4;
  struct Entry {
    std::int64_t time;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Slot {
    Callback callback;
    sim::EventId cause;
    std::uint64_t order = 0;  ///< how many were armed before
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
  };

  void restart_near() { head_ = told_far_ = told_near_ = 0; }

  void release(std::uint32_t slot) {
    ++slots_[slot].generation;
    slots_[slot].next_free = free_;
    free_ = slot;
    --live_;
  }

  void push(const Entry& entry) {
    HOOKE_CHECK(entry.time >= base_, "a timer is never filed before the present");
    const auto difference = static_cast<std::uint64_t>(entry.time ^ base_);
    const auto bucket = static_cast<std::size_t>(std::bit_width(difference));
    buckets_[bucket].push_back(entry);
    filled_ |= std::uint64_t{1} << bucket;
  }

  /// Behind those of the same time, which were armed before.
  void add_near(const Entry& entry) {
    if (near_.size() - head_ >= 2 * kFew && entry.time < near_.back().time) {
      spread_near();
      return push(entry);
    }
    if (head_ >= 4 * kFew) {
      near_.erase(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(head_));
      restart_near();
    }
    if (head_ == near_.size() || near_.back().time <= entry.time) return near_.push_back(entry);
    const auto is_before = [](std::int64_t time, const Entry& other) { return time < other.time; };
    const auto from = near_.begin() + static_cast<std::ptrdiff_t>(head_);
    near_.insert(std::upper_bound(from, near_.end(), entry.time, is_before), entry);
  }

  /// There are too many near timers to keep them sorted.
  void spread_near() {
    base_ = near_end_ = last_;
    for (std::size_t i = head_; i < near_.size(); ++i) push_if_live(near_[i]);
    near_.clear();
    restart_near();
  }

  [[nodiscard]] bool is_live(const Entry& entry) const {
    return stale_ == 0 || slots_[entry.slot].generation == entry.generation;
  }

  void push_if_live(const Entry& entry) {
    if (is_live(entry)) {
      push(entry);
    } else {
      --stale_;
    }
  }

  /// No timer of a bucket is due before then.
  [[nodiscard]] std::int64_t earliest_in_buckets() const {
    const int lowest = std::countr_zero(filled_);
    if (lowest == 64) return INT64_MAX;
    if (lowest == 0) return base_;
    return ((base_ >> (lowest - 1)) | 1) << (lowest - 1);
  }

  /// Whether a timer that is dropped then was cancelled.
  bool is_gone(const Entry& entry) {
    if (is_live(entry)) return false;
    HOOKE_CHECK(stale_ > 0, "a cancelled timer is counted until it is dropped");
    --stale_;
    return true;
  }

  /// Makes the timers of the earliest bucket the near ones, or splits it if they are many; and, where
  /// there are many timers, takes those of the next buckets, too, while there are few near ones to
  /// look ahead to. Some may still be armed for `soonest`, which is no earlier than the bucket.
  void refill(std::int64_t soonest) {
    HOOKE_CHECK(filled_ != 0, "a pending timer must be in some bucket");
    near_.clear();
    restart_near();
    const std::size_t lowest = empty_lowest();
    if (lowest == 0 || moving_.size() <= kFew) {
      take_near(lowest);
    } else {
      split(soonest);
    }
    moving_.clear();
    if (near_.empty()) return;
    base_ = std::min(near_.front().time, soonest);
    if (live_ < 4 * kFew) return;
    while (near_.size() < kFew / 2 && filled_ != 0 && lowest_bucket().size() <= kFew) {
      take_near(empty_lowest());
      moving_.clear();
    }
  }

  [[nodiscard]] const std::vector<Entry>& lowest_bucket() const {
    return buckets_[static_cast<std::size_t>(std::countr_zero(filled_))];
  }

  /// Moves the timers of the lowest bucket to `moving_`, and returns its number.
  std::size_t empty_lowest() {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(filled_));
    filled_ &= ~(std::uint64_t{1} << lowest);
    moving_.swap(buckets_[lowest]);
    return lowest;
  }

  /// The timers in `moving_`, all that there are up to the end of their bucket, behind the near ones.
  void take_near(std::size_t bucket) {
    const std::size_t before = near_.size();
    for (const Entry& entry : moving_) {
      if (!is_live(entry)) {
        --stale_;
      } else if (bucket == 0) {  // all of one time
        near_.push_back(entry);
      } else {
        add_near(entry);
      }
    }
    if (near_.size() == before) return;
    const std::size_t bits = bucket == 0 ? 0 : bucket - 1;
    const std::uint64_t end = ((static_cast<std::uint64_t>(near_.back().time) >> bits) + 1) << bits;
    near_end_ = static_cast<std::int64_t>(std::min<std::uint64_t>(end, INT64_MAX));
  }

  void split(std::int64_t soonest) {
    std::int64_t earliest = INT64_MAX;
    for (const Entry& entry : moving_) {
      if (is_live(entry) && entry.time < earliest) earliest = entry.time;
    }
    HOOKE_CHECK(earliest >= base_, "time does not go back");
    if (earliest != INT64_MAX) base_ = near_end_ = std::min(earliest, soonest);
    for (const Entry& entry : moving_) push_if_live(entry);
  }

  void drop_stale() {
    const auto is_stale = [this](const Entry& entry) { return !is_live(entry); };
    near_.erase(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(head_));
    restart_near();
    std::erase_if(near_, is_stale);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      std::erase_if(buckets_[i], is_stale);
      if (buckets_[i].empty()) filled_ &= ~(std::uint64_t{1} << i);
    }
    stale_ = 0;
  }

  // Times are non-negative 63-bit numbers, so there are 64 possible highest bits in which one
  // differs from the base, none included.
  std::array<std::vector<Entry>, 64> buckets_;
  std::vector<Entry> near_;  ///< sorted; from head_ on
  std::vector<Entry> moving_;
  std::vector<Slot> slots_;
  std::uint64_t armed_ = 0;
  std::uint32_t free_ = kNone;
  std::uint64_t filled_ = 0;                  ///< bit i: bucket i is not empty
  std::size_t head_ = 0;                      ///< next one of the near timers
  std::size_t told_far_ = 0, told_near_ = 0;  ///< near timers that look_ahead has told up to there
  std::int64_t base_ = 0;                     ///< what the times in buckets are told apart from
  std::int64_t near_end_ = 0;                 ///< timers before it are near, all others in buckets
  std::int64_t last_ = 0;                     ///< when the last timer was due
  std::size_t live_ = 0;
  std::size_t stale_ = 0;  ///< cancelled entries that are still somewhere
};

}  // namespace hooke::kernel
