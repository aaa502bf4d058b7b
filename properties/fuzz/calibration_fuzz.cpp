// Files of hooke calibrate: whatever the text, it is refused with a message or loaded; what was
// loaded can be written and loaded again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "scenarios/format/calibration.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto calibration =
        hooke::scenario::load_calibration({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string written = hooke::scenario::calibration_json(calibration).dump();
    if (hooke::scenario::load_calibration(written, "again") != calibration) std::abort();
  } catch (const hooke::scenario::ScenarioError&) {
    // Refused with a message: that is what shall happen.
  }
  return 0;
}
