#include "model/hardened/agent/hardened_worker_starts.h"

namespace hooke::model {

/// The first incarnation keeps PyTorch's name.
std::string HardenedWorkerStarts::name_of(const Attempt& attempt) const {
  const std::string name = WorkerStarts::name_of(attempt);
  return attempt.incarnation > 0 ? name + "." + std::to_string(attempt.incarnation) : name;
}

}  // namespace hooke::model
