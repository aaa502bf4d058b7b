#pragma once
// Values on the trace: a state of a large cluster is hundreds of kilobytes, and all a judge needs
// is whether two values are the same.

#include <cstdint>
#include <string>

#include "sim/port/buffer.h"

namespace hooke::model {

/// "<length>:<64-bit FNV-1a hash in hex>": equal for equal bytes, on every machine. Encodes the
/// value if it has not been yet.
inline std::string digest(const sim::Value& value) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : value.bytes()) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  std::string out = std::to_string(value.size()) + ":";
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[hash >> shift & 15U];
  return out;
}

}  // namespace hooke::model
