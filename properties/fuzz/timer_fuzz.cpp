// A line that a stranger has written into a timer file: it is refused with a reason, or understood
// so that it can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "model/timer/timer_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    model::TimerRequest read = model::parse_timer_request(line);
    if (!read.expires) read.signal = 0;  // a release is always written with signal 0
    if (model::parse_timer_request(model::encode_timer_request(read)) != read) std::abort();
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
