// Frames are opened by the first byte after the last one ended, and their length is filled in when
// they end. Object sizes follow CPython's choice of the shortest opcode.
#include "model/rendezvous/state/pickle_output.h"

#include <array>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::size_t kFrameHeaderBytes = 9;
constexpr std::size_t kFrameBytesMin = 4;  ///< CPython writes shorter ones without a header

}  // namespace

std::size_t pickled_int_bytes(std::int64_t number) {
  if (number >= 0 && number < 256) return 2;
  if (number >= 0 && number < 65'536) return 3;
  if (number >= INT32_MIN && number <= INT32_MAX) return 5;
  std::size_t bytes = 5;  // LONG1: two's complement in as few bytes as hold the sign
  while (bytes < 8 && (number >> (8 * bytes - 1)) != (number < 0 ? -1 : 0)) ++bytes;
  return 2 + bytes;
}

PickleOutput::PickleOutput(std::span<char> kept) : kept_(kept) {
  unframed({"\x80\x04", 2});
}

void PickleOutput::little_endian(std::uint64_t number, std::size_t bytes) {
  HOOKE_CHECK(bytes <= sizeof number, "a number has at most 64 bits");
  std::array<char, 8> out{};
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(number >> (8 * i) & 255U);
  raw({out.data(), bytes});
}

void PickleOutput::get(Place place) {
  HOOKE_CHECK(place < memo_, "what is referred to was written before");
  boundary();
  if (counts_only() && fits(get_bytes(place))) return skip(get_bytes(place), 0);
  op(place < 256 ? 'h' : 'j');
  little_endian(place, place < 256 ? 1 : 4);
}

PickleOutput::Place PickleOutput::text(std::string_view value) {
  HOOKE_CHECK(value.size() <= UINT32_MAX, "the length of a text has four bytes");
  boundary();
  std::array<char, 5> header{static_cast<char>(0x8c)};
  const std::size_t length_bytes = value.size() < 256 ? 1 : 4;
  if (length_bytes == 4) header[0] = 'X';
  for (std::size_t i = 0; i < length_bytes; ++i) {
    header[i + 1] = static_cast<char>(value.size() >> (8 * i) & 255U);
  }
  if (value.size() >= kFrameTarget) {
    if (frame_open_) close_frame();
    unframed({header.data(), 1 + length_bytes});
    unframed(value);
  } else {
    raw({header.data(), 1 + length_bytes});
    raw(value);
  }
  return memoize();
}

void PickleOutput::integer(std::int64_t number) {
  boundary();
  const std::size_t bytes = pickled_int_bytes(number);
  if (counts_only() && fits(bytes)) return skip(bytes, 0);
  switch (bytes) {
    case 2: op('K'); break;
    case 3: op('M'); break;
    case 5: op('J'); break;
    default:
      op(0x8a);  // LONG1
      little_endian(bytes - 2, 1);
      little_endian(static_cast<std::uint64_t>(number), bytes - 2);
      return;
  }
  little_endian(static_cast<std::uint64_t>(number), bytes - 1);
}

std::size_t PickleOutput::finish() {
  op('.');
  close_frame();
  return total_;
}

void PickleOutput::open_frame() {
  HOOKE_CHECK(!frame_open_, "one frame ends before the next begins");
  frame_open_ = true;
  frame_bytes_ = 0;
  frame_at_ = total_;
  unframed(std::string_view("\x95\0\0\0\0\0\0\0\0", kFrameHeaderBytes));
}

void PickleOutput::close_frame() {
  HOOKE_CHECK(frame_open_, "a frame that ends was begun");
  HOOKE_CHECK(frame_bytes_ >= kFrameBytesMin, "a state has no frame too short to be one");
  frame_open_ = false;
  if (counts_only()) return;
  HOOKE_CHECK(frame_at_ + kFrameHeaderBytes + frame_bytes_ == total_,
              "a frame is as long as what stands in it");
  for (std::size_t i = 0; i < 8; ++i) {
    kept_[frame_at_ + 1 + i] = static_cast<char>(frame_bytes_ >> (8 * i) & 255U);
  }
}

}  // namespace hooke::model
