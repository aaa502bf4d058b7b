#pragma once
// Deadlines of fibers that sleep again and again (see Sleeper). Most do so for the same span, and
// those wait in the order in which they lie down: nothing is sorted. A fiber that dozes need not even
// be asked whether it sleeps on, and what the kernel has to know for that is in one line of the
// caches, its place. Internal to the kernel.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/kernel/ready_queue.h"
#include "sim/port/check.h"

namespace hooke::kernel {

class Rests {
 public:
  struct Rest {
    std::int64_t time;    ///< when it is over
    std::uint64_t order;  ///< in which it and the timers were armed
    std::uint32_t place;
    std::uint32_t number;  ///< of the rests there
  };
  struct alignas(64) Place {
    FiberBlock* fiber = nullptr;
    std::uint64_t fiber_id = 0;
    std::int64_t time = 0;  ///< of its last rest
    Doze doze;
    std::uint32_t number = 0;  ///< one that has a lower number is over
  };

  /// For ever: blocks of fibers are kept, too.
  std::uint32_t new_place(FiberBlock& fiber) {
    places_.emplace_back().fiber = &fiber;
    return static_cast<std::uint32_t>(places_.size() - 1);
  }
  [[nodiscard]] Place& at(std::uint32_t place) { return places_[place]; }

  /// Whether a rest until then is the last in the order of time.
  [[nodiscard]] bool comes_last(std::int64_t time) const {
    return queue_.empty() || queue_[queue_.size() - 1].time <= time;
  }
  void add(std::uint32_t place, std::int64_t time, std::uint64_t order) {
    HOOKE_CHECK(comes_last(time), "rests are in the order of time");
    places_[place].time = time;
    queue_.push({time, order, place, places_[place].number});
  }
  /// Before its time; what is left of it is dropped later.
  void end(std::uint32_t place) {
    ++places_[place].number;
    if (++ended_ <= queue_.size() / 2 + 4096) return;
    queue_.remove_if([this](const Rest& rest) { return is_over(rest); });
    ended_ = 0;
  }
  /// The next one, null: none. Valid until the next call.
  [[nodiscard]] const Rest* first() {
    for (; !queue_.empty(); queue_.take(0), --ended_) {
      if (!is_over(queue_[0])) return &queue_[0];
    }
    return nullptr;
  }
  Rest take_first() {
    ++places_[queue_[0].place].number;
    return queue_.take(0);
  }
  /// That of the next but so many, once, is on its way into the caches then.
  void fetch_ahead(std::size_t count) const {
    if (count < queue_.size()) __builtin_prefetch(&places_[queue_[count].place], 1);
  }
  void clear() {
    queue_.clear();
    ended_ = 0;
  }

 private:
  [[nodiscard]] bool is_over(const Rest& rest) const {
    return places_[rest.place].number != rest.number;
  }
  ReadyQueue<Rest> queue_;
  std::vector<Place> places_;
  std::size_t ended_ = 0;  ///< of those in the queue
};

}  // namespace hooke::kernel
