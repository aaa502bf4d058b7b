// Scenario files: whatever the text, it is refused with a message or loaded; what was loaded can be
// written and loaded again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto scenario =
        hooke::scenario::load_scenario({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (hooke::scenario::load_scenario(hooke::scenario::write_scenario(scenario), "again") !=
        scenario)
      std::abort();
  } catch (const hooke::scenario::ScenarioError&) {
    // Refused with a message: that is what shall happen.
  }
  return 0;
}
