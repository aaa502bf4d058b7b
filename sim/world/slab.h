#pragma once
// Objects that are numbered densely and never move. In blocks: a vector would move them, and an
// allocation for each would cost one more cache line per look.

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/port/check.h"

namespace hooke::world {

template <class T>
class Slab {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) { return blocks_[index / kBlock][index % kBlock]; }
  /// Adds an object; its number is the former size().
  void grow() {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    HOOKE_CHECK(size_ < blocks_.size() * kBlock, "a block has room for one more");
    ++size_;
  }

 private:
  static constexpr std::size_t kBlock = 64;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace hooke::world
