#pragma once
// First-in first-out ring from which an element near the front can also be taken, keeping the
// others' order.

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/port/check.h"

namespace hooke::kernel {

template <class T>
class ReadyQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The element `index` places behind the front; index < size().
  [[nodiscard]] const T& operator[](std::size_t index) const {
    HOOKE_CHECK(index < size_, "only an element of the queue is looked at");
    return ring_[(head_ + index) & (ring_.size() - 1)];
  }

  void push(T item) {
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_++) & (ring_.size() - 1)] = item;
  }

  /// Removes and returns the element `index` places behind the front; index < size(). Costs `index`
  /// moves.
  T take(std::size_t index) {
    HOOKE_CHECK(index < size_, "only an element of the queue is taken");
    const std::size_t mask = ring_.size() - 1;
    T item = ring_[(head_ + index) & mask];
    for (; index > 0; --index) ring_[(head_ + index) & mask] = ring_[(head_ + index - 1) & mask];
    head_ = (head_ + 1) & mask;
    --size_;
    return item;
  }

  /// Removes every element for which `gone` holds; the others keep their order.
  template <class Predicate>
  void remove_if(Predicate gone) {
    const std::size_t mask = ring_.size() - 1;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const T item = ring_[(head_ + i) & mask];
      if (!gone(item)) ring_[(head_ + kept++) & mask] = item;
    }
    HOOKE_CHECK(kept <= size_, "removing makes no element");
    size_ = kept;
  }

  void clear() { head_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 64 : ring_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
    HOOKE_CHECK(std::has_single_bit(larger.size()) && larger.size() > size_,
                "the ring is a power of two with room for one more");
    ring_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> ring_;  ///< size is a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hooke::kernel
