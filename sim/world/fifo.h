#pragma once
// A first-in first-out queue in one block of memory. std::deque allocates half a kilobyte even when
// empty, which a hundred thousand sockets cannot afford.

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/port/check.h"

namespace hooke::world {

template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
  void push(T item) { items_.push_back(std::move(item)); }
  [[nodiscard]] T& front() { return items_[first_]; }
  /// True if `holds` is true of an element.
  template <class Predicate>
  [[nodiscard]] bool any(Predicate holds) const {
    for (std::size_t i = first_; i < items_.size(); ++i) {
      if (holds(items_[i])) return true;
    }
    return false;
  }
  T pop() {
    HOOKE_CHECK(first_ < items_.size(), "only a queue with an element gives one");
    T item = std::move(items_[first_]);
    if (++first_ == items_.size()) {
      items_.clear();
      first_ = 0;
    } else if (first_ > 1024 && first_ > items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return item;
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace hooke::world
