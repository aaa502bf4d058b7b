#pragma once
// Shows files on the agent's own streams while they grow
// (torch/distributed/elastic/multiprocessing/tail_log.py:TailLog).

#include <memory>
#include <vector>

#include "model/worker/logs.h"
#include "sim/port/ports.h"

namespace hooke::model {

class TailLog {
 public:
  /// Starts a fiber for each file. A file that is not there yet is waited for.
  TailLog(sim::Ports& ports, const std::vector<TailedFile>& files);
  /// The fibers end by themselves.
  ~TailLog();
  TailLog(const TailLog&) = delete;
  TailLog& operator=(const TailLog&) = delete;

  /// Shows what is left in the files, and ends. Harmless the second time.
  void stop();

 private:
  struct Shared;
  sim::Ports& ports_;
  std::shared_ptr<Shared> shared_;
  std::vector<sim::FiberId> fibers_;
};

}  // namespace hooke::model
