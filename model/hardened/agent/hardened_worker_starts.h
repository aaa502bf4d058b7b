#pragma once
// The problem: a membership restart keeps the count of restarts, and so the workers' files of the
// previous incarnation are removed, with the only report of why it failed.

#include <string>

#include "model/agent/worker_starts.h"

namespace hooke::model {

/// Each incarnation has a directory of its own.
class HardenedWorkerStarts : public WorkerStarts {
 public:
  using WorkerStarts::WorkerStarts;

 protected:
  [[nodiscard]] std::string name_of(const Attempt& attempt) const override;
};

}  // namespace hooke::model
