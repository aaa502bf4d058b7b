#include "model/etcd/signature.h"

#include <cstdint>

#include "sim/port/check.h"
#include "sim/port/fnv1a.h"

namespace hooke::model {
namespace {

/// So many are never there for another reason, and never the same by chance.
constexpr std::size_t kBlanks = 24;

}  // namespace

std::string draw_signature(sim::Ports& ports) {
  const std::string self =
      ports.network.host_name() + " " + std::to_string(ports.processes.self().value);
  std::uint64_t bits =
      sim::fnv1a(self) ^ ports.random.below("etcd.signature", std::uint64_t{1} << kBlanks);
  std::string out;
  for (std::size_t i = 0; i < kBlanks; ++i, bits /= 2) out += bits % 2 == 0 ? ' ' : '\t';
  HOOKE_CHECK(without_signature(sim::Value("0" + out)).size() == 1, "a signature is known as one");
  return out;
}

sim::Value without_signature(const sim::Value& value) {
  const std::string& bytes = value.bytes();
  if (bytes.size() <= kBlanks) return value;
  const std::size_t length = bytes.size() - kBlanks;
  const bool is_signed = bytes.find_first_not_of(" \t", length) == std::string::npos &&
                         bytes[length - 1] >= '0' && bytes[length - 1] <= '9';
  return is_signed ? sim::Value(bytes.substr(0, length)) : value;
}

}  // namespace hooke::model
