// Bytes that a stranger has sent to a worker pool, or a false pool to an agent: refused with a
// reason, waited upon, or messages that are written again as they came.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/worker/pool_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  sim::Buffer received{bytes};
  std::string again;
  try {
    while (const auto message = model::take_pool_message(received))
      again += model::encode_pool_message(*message);
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  if (bytes.substr(0, again.size()) != again) std::abort();
  if (again.size() + received.size() != bytes.size()) std::abort();
  return 0;
}
