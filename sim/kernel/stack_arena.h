#pragma once
// Stacks of fibers. A hundred thousand of them do not fit through one mapping each (the kernel
// allows about 65,000), and equal alignment would put every stack top into the same sets of the
// caches and of the TLB. So: large mappings cut into equal slots of an odd number of pages, tops
// shifted by a colour, last freed first reused. Memory that was never touched stays unbacked.

#include <cstddef>
#include <vector>

namespace hooke::kernel {

class StackArena {
 public:
  /// One stack: [bottom, top), growing down from top.
  struct Slot {
    std::byte* bottom = nullptr;
    std::byte* top = nullptr;
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(top - bottom); }
  };

  StackArena();
  ~StackArena();
  StackArena(const StackArena&) = delete;
  StackArena& operator=(const StackArena&) = delete;

  /// A free slot; maps more memory when there is none. std::bad_alloc when the system gives none.
  Slot take();
  /// Returns a slot. Aborts if its lowest words were written: the stack has overflowed.
  void give_back(const Slot& slot);
  /// True while the lowest words of the slot are untouched.
  [[nodiscard]] static bool intact(const Slot& slot);
  /// Bytes used so far by the deepest of all stacks ever handed out.
  [[nodiscard]] std::size_t high_water() const;
  /// Every slot has an inaccessible page below it (costs a mapping per slot).
  [[nodiscard]] bool guarded() const { return guarded_; }

 private:
  void map_more();
  bool guarded_;
  std::vector<void*> mappings_;
  std::vector<Slot> free_;
  std::vector<Slot> all_;
};

}  // namespace hooke::kernel
