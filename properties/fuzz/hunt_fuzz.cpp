// Spaces and results of explorations: whatever the text, it is refused with a message or loaded; a
// loaded space gives worlds, and loaded results can be written and loaded again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/exploration.h"
#include "scenarios/swarm/swarm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hunt::Swarm swarm = hunt::load_swarm(text, "fuzz");
    if (swarm.nodes.high > 100 || swarm.faults.high > 100) return 0;
    const scenario::Scenario world = hunt::draw(swarm, size);
    if (scenario::load_scenario(scenario::write_scenario(world), "again") != world) std::abort();
  } catch (const scenario::ScenarioError&) {
    // Refused with a message: that is what shall happen.
  }
  try {
    const std::string written = hunt::write_exploration(hunt::load_exploration(text, "fuzz"));
    if (hunt::write_exploration(hunt::load_exploration(written, "again")) != written) std::abort();
  } catch (const scenario::ScenarioError&) {
  }
  return 0;
}
