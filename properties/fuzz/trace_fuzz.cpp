// Trace files, of a whole run and of one agent: whatever stands there, it is refused with a message or
// judged.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("trace", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) return 0;
  const auto invariants = hooke::properties::InvariantRegistry::with_builtins();
  try {
    const auto events = hooke::scenario::open_recording({"/proc/self/fd/" + std::to_string(file)});
    hooke::scenario::judge_recording(*events, invariants, {}, std::nullopt);
  } catch (const hooke::scenario::ScenarioError&) {
    // Refused with a message: that is what shall happen.
  }
  close(file);
  return 0;
}
