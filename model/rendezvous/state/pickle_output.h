#pragma once
// The lowest layer of CPython's pickler (Modules/_pickle.c: _Pickler_Write,
// _Pickler_OpcodeBoundary, memo_put, save_long, save_unicode), protocol 4. The same calls either
// keep the bytes or only count them, so that a size can be known exactly without encoding.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::model {

/// Bytes of a text of `size` bytes as an opcode with its MEMOIZE.
constexpr std::size_t pickled_text_bytes(std::size_t size) {
  return (size < 256 ? 2 : 5) + size + 1;
}
/// Bytes of an integer as an opcode with its argument.
std::size_t pickled_int_bytes(std::int64_t number);

class PickleOutput {
 public:
  /// A place in the memo; kNoPlace: not there yet.
  using Place = std::uint32_t;
  static constexpr Place kNoPlace = 0xffffffffU;

  /// Writes into `kept`, which has exactly the size that counting gave, or only counts when its
  /// data is null. Begins with PROTO 4.
  explicit PickleOutput(std::span<char> kept);

  [[nodiscard]] bool counts_only() const { return kept_.data() == nullptr; }
  /// Where an object begins: a frame that is full ends here. Must come before each object.
  void boundary() {
    if (frame_open_ && frame_bytes_ >= kFrameTarget) close_frame();
  }
  /// No frame can end among the next `bytes` bytes: boundaries may be left out.
  [[nodiscard]] bool fits(std::size_t bytes) const {
    return frame_open_ && frame_bytes_ + bytes < kFrameTarget;
  }
  /// Only when counting, and what comes fits(): so many bytes that memoise `places` objects.
  void skip(std::size_t bytes, Place places) {
    HOOKE_CHECK(counts_only(), "only what is counted is skipped");
    total_ += bytes;
    frame_bytes_ += bytes;
    memo_ += places;
  }

  void raw(std::string_view bytes) {
    if (!frame_open_) open_frame();
    unframed(bytes);
    frame_bytes_ += bytes.size();
  }
  void op(unsigned char opcode) {
    const char c = static_cast<char>(opcode);
    raw({&c, 1});
  }
  /// The lowest `bytes` bytes of `number`, least significant first.
  void little_endian(std::uint64_t number, std::size_t bytes);
  /// MEMOIZE: the object just written gets the next place.
  Place memoize() {
    op(0x94);
    return memo_++;
  }
  [[nodiscard]] Place next_place() const { return memo_; }
  /// The object at `place` once more; its boundary included.
  void get(Place place);
  /// Bytes that get(place) writes.
  static std::size_t get_bytes(Place place) { return place < 256 ? 2 : 5; }
  /// A text object that was not written before.
  Place text(std::string_view value);
  void integer(std::int64_t number);

  /// STOP. Returns the size of all.
  std::size_t finish();

 private:
  static constexpr std::size_t kFrameTarget = 64UL * 1024;

  void open_frame();
  void close_frame();
  /// Bytes that stand outside of any frame.
  void unframed(std::string_view bytes) {
    if (!counts_only()) {
      HOOKE_CHECK(bytes.size() <= kept_.size() - total_, "a pickle is not longer than was counted");
      bytes.copy(kept_.data() + total_, bytes.size());
    }
    total_ += bytes.size();
  }

  std::span<char> kept_;
  std::size_t total_ = 0;
  bool frame_open_ = false;
  std::size_t frame_bytes_ = 0;
  std::size_t frame_at_ = 0;
  Place memo_ = 0;
};

}  // namespace hooke::model
