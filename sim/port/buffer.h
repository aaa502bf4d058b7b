#pragma once
// Bytes in flight. A rendezvous of 4,096 nodes moves gigabytes of the same few states; copying them
// would make the simulation of large clusters impossible. So a buffer is a list of pieces, and a
// piece may be an immutable Payload that is carried by reference and only *accounted* at its wire
// size. A payload turns into real bytes when somebody asks for them; asking never changes a
// decision.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/port/check.h"

namespace hooke::sim {

/// An immutable value that knows its exact size as bytes without being encoded.
class Payload {
 public:
  virtual ~Payload() = default;
  Payload() = default;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  /// Size in bytes; always equals bytes().size().
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// The value as bytes, encoded on first use and kept. The reference lives as long as the payload.
  [[nodiscard]] virtual const std::string& bytes() const = 0;
  /// Whether `other` has the same bytes, when that can be told without encoding either.
  [[nodiscard]] virtual std::optional<bool> same_bytes(const Payload& other) const {
    static_cast<void>(other);
    return std::nullopt;
  }
};

/// A payload that is plain bytes.
class BytesPayload final : public Payload {
 public:
  explicit BytesPayload(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::size_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const override { return bytes_; }

 private:
  std::string bytes_;
};

/// Shared handle of an immutable value; default-constructed it is the empty value. Copying shares;
/// identity is a fast sufficient test of equality.
class Value {
 public:
  Value() = default;
  explicit Value(std::string bytes) : payload_(std::make_shared<BytesPayload>(std::move(bytes))) {}
  explicit Value(std::shared_ptr<const Payload> payload) : payload_(std::move(payload)) {}

  [[nodiscard]] std::size_t size() const { return payload_ ? payload_->size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const std::string& bytes() const {
    static const std::string none;
    return payload_ ? payload_->bytes() : none;
  }
  /// The payload itself, null for the empty value; lets a decoder recognise its own encoding.
  [[nodiscard]] const std::shared_ptr<const Payload>& payload() const { return payload_; }

  /// Equality of bytes. Two handles of one payload are equal without looking at the bytes.
  friend bool operator==(const Value& a, const Value& b) {
    if (a.payload_ == b.payload_) return true;
    if (a.size() != b.size()) return false;
    if (a.empty()) return true;
    if (const auto same = a.payload_->same_bytes(*b.payload_)) return *same;
    return a.bytes() == b.bytes();
  }

 private:
  std::shared_ptr<const Payload> payload_;
};

/// A sequence of bytes made of inline text and payload references, consumed from the front.
/// Invariant: no piece is empty; size() is the sum of what is left of the pieces.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::string bytes) { append(std::move(bytes)); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  void append(std::string bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    if (!swept_up(bytes)) pieces_.emplace_back(std::move(bytes));
  }
  void append(const Value& value) {
    if (value.empty()) return;
    size_ += value.size();
    pieces_.emplace_back(value);
  }
  void append(Buffer other) {
    if (empty()) {
      *this = std::move(other);
      return;
    }
    size_ += other.size_;
    for (std::size_t i = other.first_; i < other.pieces_.size(); ++i) {
      Piece& piece = other.pieces_[i];
      if (piece.is_payload() || !swept_up(piece.view())) pieces_.push_back(std::move(piece));
    }
  }

  /// Removes and returns exactly `count` bytes; requires count <= size(). A payload that is taken
  /// exactly whole comes back as the same Value, anything else is copied.
  [[nodiscard]] Value take(std::size_t count) {
    HOOKE_CHECK(count <= size_, "cannot take more than there is");
    if (count == 0) return Value();
    Piece& front = pieces_[first_];
    if (front.is_payload() && front.offset == 0 && front.size() == count) {
      Value whole = std::move(front.value);
      size_ -= count;
      pop_front();
      return whole;
    }
    return Value(take_bytes(count));
  }

  /// The bytes at the front that lie in memory one behind the other, to be read where they are;
  /// empty before a payload. Ends with the next change.
  [[nodiscard]] std::string_view front_text() const {
    if (empty() || pieces_[first_].is_payload()) return {};
    return pieces_[first_].view();
  }

  /// The value at the front, where it is still whole; null before text. Ends with the next change.
  [[nodiscard]] const Value* front_value() const {
    if (empty() || !pieces_[first_].is_payload() || pieces_[first_].offset != 0) return nullptr;
    return &pieces_[first_].value;
  }

  /// Removes and returns `count` bytes as text; requires count <= size().
  [[nodiscard]] std::string take_bytes(std::size_t count) {
    std::string out(count, '\0');
    peek(0, count, out.data());
    drop(count);
    return out;
  }

  /// Removes the first `count` bytes; requires count <= size().
  void drop(std::size_t count) {
    HOOKE_CHECK(count <= size_, "cannot drop more than there is");
    size_ -= count;
    while (count > 0) {
      Piece& front = pieces_[first_];
      const std::size_t rest = front.size() - front.offset;
      HOOKE_CHECK(rest > 0, "no piece is empty");
      if (rest > count) {
        front.offset += count;
        return;
      }
      count -= rest;
      pop_front();
    }
  }

  /// Removes the first `count` bytes and returns them as a buffer that still shares payloads.
  [[nodiscard]] Buffer split(std::size_t count) {
    HOOKE_CHECK(count <= size_, "cannot split beyond the end");
    Buffer head;
    size_ -= count;
    head.size_ = count;
    while (count > 0) {
      Piece& front = pieces_[first_];
      const std::size_t rest = front.size() - front.offset;
      HOOKE_CHECK(rest > 0, "no piece is empty");
      if (rest <= count) {
        count -= rest;
        head.pieces_.push_back(std::move(front));
        pop_front();
      } else {
        head.pieces_.emplace_back(std::string(front.view().substr(0, count)));
        front.offset += count;
        count = 0;
      }
    }
    return head;
  }

  /// Copies `count` bytes from position `from` without removing them; requires from+count <=
  /// size().
  void peek(std::size_t from, std::size_t count, char* out) const {
    HOOKE_CHECK(from <= size_ && count <= size_ - from, "cannot peek beyond the end");
    for (std::size_t i = first_; count > 0; ++i) {
      const Piece& piece = pieces_[i];
      const std::size_t rest = piece.size() - piece.offset;
      if (from >= rest) {
        from -= rest;
        continue;
      }
      const std::size_t part = std::min(rest - from, count);
      piece.view().copy(out, part, from);
      out += part;
      count -= part;
      from = 0;
    }
  }

 private:
  struct Piece {
    std::string text;  ///< inline bytes; empty when the piece is a payload
    Value value;
    std::size_t offset = 0;  ///< bytes already consumed
    explicit Piece(std::string bytes) : text(std::move(bytes)) {}
    explicit Piece(Value payload) : value(std::move(payload)) {}
    [[nodiscard]] bool is_payload() const { return text.empty(); }
    [[nodiscard]] std::size_t size() const { return is_payload() ? value.size() : text.size(); }
    [[nodiscard]] std::string_view view() const {
      return std::string_view(is_payload() ? value.bytes() : text).substr(offset);
    }
  };

  /// Puts crumbs to the last piece and says whether it did: a peer that sends single bytes must not
  /// cost a piece for each.
  bool swept_up(std::string_view text) {
    constexpr std::size_t kCrumbBytes = 64;
    constexpr std::size_t kHeapBytes = 4096;
    if (text.size() > kCrumbBytes || pieces_.empty()) return false;
    Piece& last = pieces_.back();
    if (last.is_payload() || last.size() >= kHeapBytes) return false;
    last.text += text;
    return true;
  }

  void pop_front() {
    HOOKE_CHECK(first_ < pieces_.size(), "a piece that is used up was there");
    ++first_;
    // Not only at the end: a stream may always have a beginning of something in it.
    if (first_ == pieces_.size() || (first_ >= 64 && first_ >= pieces_.size() / 2)) {
      pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  ///< index of the first piece that still has bytes
  std::size_t size_ = 0;
};

}  // namespace hooke::sim
