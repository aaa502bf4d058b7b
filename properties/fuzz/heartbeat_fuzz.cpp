// A line that a stranger sends to the port for heartbeats: it is refused with a reason, or
// understood so that it can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "model/heartbeat/beat.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    const model::Beat read = model::parse_beat(line);
    const std::string written = model::encode_beat(read);
    if (written.size() >= model::kBeatBytesMax || model::parse_beat(written) != read) std::abort();
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
