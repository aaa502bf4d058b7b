// Sources of choices. The seeded source is a keyed hash (no state), so that draws are independent
// of the order in which they are asked for.
#include "sim/kernel/choice.h"

#include "sim/port/check.h"
#include "sim/port/fnv1a.h"

namespace hooke::kernel {
namespace {

constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30U;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27U;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Maps 64 random bits to [0, bound) by the high half of a 64x64 product, in portable arithmetic.
constexpr std::uint64_t scale(std::uint64_t bits, std::uint64_t bound) {
  const std::uint64_t low = bits & 0xffffffffU;
  const std::uint64_t high = bits >> 32U;
  const std::uint64_t bound_low = bound & 0xffffffffU;
  const std::uint64_t bound_high = bound >> 32U;
  const std::uint64_t middle = high * bound_low + ((low * bound_low) >> 32U);
  const std::uint64_t carry = (middle & 0xffffffffU) + low * bound_high;
  return high * bound_high + (middle >> 32U) + (carry >> 32U);
}

}  // namespace

std::uint64_t QuietSource::choose(const ChoicePoint&, std::uint64_t) {
  return 0;
}

std::uint64_t SeededSource::choose(const ChoicePoint& point, std::uint64_t bound) {
  HOOKE_CHECK(bound >= 1, "a choice needs at least one alternative");
  if (bound == 1) return 0;
  std::uint64_t bits = mix(seed_ + 0x9e3779b97f4a7c15ULL);
  bits = mix(bits ^ sim::fnv1a(point.purpose));
  bits = mix(bits ^ (point.owner * 0x9e3779b97f4a7c15ULL));
  bits = mix(bits ^ (point.part * 0xd1b54a32d192ed03ULL));
  bits = mix(bits ^ (point.occurrence * 0xaef17502108ef2d9ULL));
  return scale(bits, bound);
}

std::uint64_t RecordingSource::choose(const ChoicePoint& point, std::uint64_t bound) {
  const std::uint64_t value = inner_.choose(point, bound);
  HOOKE_CHECK(value < bound, "a choice is one of its alternatives");
  if (value != 0) {
    tape_.push_back({std::string(point.purpose), point.owner, point.part, point.occurrence, value});
  }
  return value;
}

ReplaySource::ReplaySource(const Tape& tape) {
  for (const RecordedChoice& choice : tape) {
    values_[{choice.purpose, choice.owner, choice.part, choice.occurrence}] = choice.value;
  }
}

std::uint64_t ReplaySource::choose(const ChoicePoint& point, std::uint64_t bound) {
  HOOKE_CHECK(bound >= 1, "a choice needs at least one alternative");
  const auto found =
      values_.find({std::string(point.purpose), point.owner, point.part, point.occurrence});
  return found == values_.end() ? 0 : found->second % bound;
}

}  // namespace hooke::kernel
