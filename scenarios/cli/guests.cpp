#include "scenarios/cli/guests.h"

#include <cstdlib>

#include "scenarios/format/loader.h"
#include "scenarios/guest/guest_runner.h"

namespace hooke::cli {

std::unique_ptr<guest::Zygote> guests_of_this_machine(const std::string& flag) {
  const char* const python = std::getenv("HOOKE_TORCH_PYTHON");
  if (python == nullptr || *python == '\0') {
    throw scenario::ScenarioError(flag +
                                  ": not available here: expected HOOKE_TORCH_PYTHON to name a "
                                  "Python with PyTorch, got nothing");
  }
  try {
    const char* const modules = std::getenv("PYTHONPATH");
    return scenario::start_torch(python, {}, modules == nullptr ? "" : modules);
  } catch (const guest::GuestError& error) {
    throw scenario::ScenarioError(flag + ": not available here: " + std::string(error.what()));
  }
}

}  // namespace hooke::cli
