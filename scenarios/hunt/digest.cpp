#include "scenarios/hunt/digest.h"

#include <fmt/format.h>

#include <charconv>

#include "sim/kernel/trace_recorder.h"

namespace hooke::hunt {

std::optional<Digest> Digest::from_hex(std::string_view text) {
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != text.npos) return {};
  Digest digest;
  std::from_chars(text.data(), text.data() + 16, digest.high_, 16);
  std::from_chars(text.data() + 16, text.data() + 32, digest.low_, 16);
  return digest;
}

std::string Digest::hex() const {
  return fmt::format("{:016x}{:016x}", high_, low_);
}

void Digest::add(std::uint64_t world, std::string_view trace_hash) {
  kernel::TraceHash hash;
  hash.add(world);
  hash.add(trace_hash);
  add(*from_hex(hash.hex()));
}

void Digest::add(const Digest& part) {
  low_ += part.low_;
  high_ += part.high_ + (low_ < part.low_ ? 1 : 0);
}

}  // namespace hooke::hunt
