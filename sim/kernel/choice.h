#pragma once
// The one source of every nondeterministic decision of a run. A run *is* the list of its choices:
// random search, replay, the quiet run and shrinking differ only in the ChoiceSource behind this
// interface.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/check.h"

namespace hooke::kernel {

/// Where a choice is made: a purpose (string literal), and two numbers that say whose it is (node
/// and component, link ends …). `occurrence` counts the draws made under the same three.
struct ChoicePoint {
  std::string_view purpose;
  std::uint64_t owner = 0;
  std::uint64_t part = 0;
  std::uint64_t occurrence = 0;
};

/// Answers choices. 0 is always the quiet default.
class ChoiceSource {
 public:
  virtual ~ChoiceSource() = default;
  /// A number in [0, bound), bound >= 1, that depends on nothing but `point`, `bound` and the
  /// source.
  virtual std::uint64_t choose(const ChoicePoint& point, std::uint64_t bound) = 0;
};

/// Always 0: the fault-free, first-in first-out run.
class QuietSource final : public ChoiceSource {
 public:
  std::uint64_t choose(const ChoicePoint& point, std::uint64_t bound) override;
};

/// A keyed hash of the point: the draws of one stream do not depend on draws of any other.
class SeededSource final : public ChoiceSource {
 public:
  explicit SeededSource(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t choose(const ChoicePoint& point, std::uint64_t bound) override;

 private:
  std::uint64_t seed_;
};

/// One recorded choice. Points with the quiet answer need no record.
struct RecordedChoice {
  std::string purpose;
  std::uint64_t owner = 0;
  std::uint64_t part = 0;
  std::uint64_t occurrence = 0;
  std::uint64_t value = 0;
  friend auto operator<=>(const RecordedChoice&, const RecordedChoice&) = default;
};
using Tape = std::vector<RecordedChoice>;

/// Passes on to `inner` and keeps every answer that is not 0.
class RecordingSource final : public ChoiceSource {
 public:
  explicit RecordingSource(ChoiceSource& inner) : inner_(inner) {}
  std::uint64_t choose(const ChoicePoint& point, std::uint64_t bound) override;
  [[nodiscard]] const Tape& tape() const { return tape_; }

 private:
  ChoiceSource& inner_;
  Tape tape_;
};

/// Answers from a tape; points it does not hold get 0, and a value too large for its bound is
/// reduced modulo the bound, so that a tape stays usable while a world is being shrunk.
class ReplaySource final : public ChoiceSource {
 public:
  explicit ReplaySource(const Tape& tape);
  std::uint64_t choose(const ChoicePoint& point, std::uint64_t bound) override;

 private:
  struct Key {
    std::string purpose;
    std::uint64_t owner, part, occurrence;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::uint64_t> values_;
};

/// A stream of draws with one purpose and owner; counts its own occurrences.
class Stream {
 public:
  Stream(ChoiceSource& source, std::string_view purpose, std::uint64_t owner,
         std::uint64_t part = 0)
      : source_(&source), point_{purpose, owner, part, 0} {}
  /// The next draw in [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t value = source_->choose(point_, bound);
    HOOKE_CHECK(value < bound, "a draw is below its bound");
    ++point_.occurrence;
    return value;
  }

 private:
  ChoiceSource* source_;
  ChoicePoint point_;
};

}  // namespace hooke::kernel
