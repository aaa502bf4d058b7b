// A line in the file through which workers signal each other: it is refused with a reason, or
// understood so that it can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "model/worker/signal_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    const model::FileSignal read = model::parse_file_signal(line);
    if (model::parse_file_signal(model::encode_file_signal(read)) != read) std::abort();
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
