// Mapping, colouring and checking of fiber stacks. The canary is the zero that fresh memory holds:
// writing one would touch, and so back with memory, the lowest page of every stack.
#include "sim/kernel/stack_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "sim/kernel/sanitizer.h"
#include "sim/port/check.h"

namespace hooke::kernel {
namespace {

#ifdef HOOKE_ADDRESS_SANITIZER
constexpr std::size_t kSlotBytes = 512 * 1024;  // instrumented frames are several times larger
constexpr std::size_t kSlotsPerMapping = 64;
constexpr bool kGuarded = true;
#else
// Seventeen pages, and not sixteen: tops a power of two of pages apart would share few sets of the
// TLB, which a few hundred fibers then miss at each wake.
constexpr std::size_t kSlotBytes = 68 * 1024;
constexpr std::size_t kSlotsPerMapping = 1024;
#ifdef NDEBUG
constexpr bool kGuarded = false;
#else
constexpr bool kGuarded = true;
#endif
#endif

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kColours = 40;
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kCanaryWords = 8;

}  // namespace

StackArena::StackArena() : guarded_(kGuarded) {}

StackArena::~StackArena() {
  HOOKE_CHECK(free_.size() == all_.size(), "every stack is given back before the arena goes");
  for (void* mapping : mappings_) munmap(mapping, kSlotBytes * kSlotsPerMapping);
}

StackArena::Slot StackArena::take() {
  if (free_.empty()) map_more();
  const Slot slot = free_.back();
  HOOKE_CHECK(slot.bottom < slot.top, "a stack has a top above its bottom");
  free_.pop_back();
#ifdef HOOKE_ADDRESS_SANITIZER
  // A fiber that ended by its last switch has left the marks of its frames behind.
  __asan_unpoison_memory_region(slot.bottom, slot.size());
#endif
  return slot;
}

void StackArena::give_back(const Slot& slot) {
  HOOKE_CHECK(intact(slot), "a fiber has overflowed its stack");
  HOOKE_CHECK(free_.size() < all_.size(), "no stack is given back twice");
  free_.push_back(slot);
}

bool StackArena::intact(const Slot& slot) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(slot.bottom);
  return std::all_of(words, words + kCanaryWords, [](std::uint64_t word) { return word == 0; });
}

std::size_t StackArena::high_water() const {
  std::size_t deepest = 0;
  for (const Slot& slot : all_) {
    const auto* word = reinterpret_cast<const std::uint64_t*>(slot.bottom);
    const auto* end = reinterpret_cast<const std::uint64_t*>(slot.top);
    while (word < end && *word == 0) ++word;
    deepest = std::max(deepest, static_cast<std::size_t>(end - word) * sizeof(*word));
  }
  return deepest;
}

void StackArena::map_more() {
  void* mapping = mmap(nullptr, kSlotBytes * kSlotsPerMapping, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mappings_.push_back(mapping);
  auto* const base = static_cast<std::byte*>(mapping);
  for (std::size_t i = kSlotsPerMapping; i-- > 0;) {  // so that the lowest slot is taken first
    std::byte* const bottom = base + i * kSlotBytes;
    if (guarded_) mprotect(bottom, kPageBytes, PROT_NONE);
    const std::size_t colour = (all_.size() % kColours) * kCacheLineBytes;
    const Slot slot{bottom + (guarded_ ? kPageBytes : 0), bottom + kSlotBytes - colour};
    HOOKE_CHECK(slot.size() + kPageBytes + kColours * kCacheLineBytes >= kSlotBytes,
                "a colour costs a stack no more than its lines");
    all_.push_back(slot);
    free_.push_back(slot);
  }
}

}  // namespace hooke::kernel
