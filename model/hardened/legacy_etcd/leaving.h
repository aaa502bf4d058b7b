#pragma once
// The problem: what a node has written into the legacy rendezvous stays when the node goes: it is counted with
// the living until a time-to-live has passed, and below the minimum for ever (S-L7).

#include <cstdint>
#include <string>

#include "model/hardened/legacy_etcd/hardened_run.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Where a node stands in a run; 0: nowhere.
struct LegacyStanding {
  std::int64_t joining = 0;  ///< a version that it has joined, and that is not final
  std::int64_t waiting = 0;  ///< a final version beside which it is counted as waiting
  std::int64_t member = 0;   ///< the final version that it is in
  std::string keep_alive;    ///< path of its key there
};

/// Takes the node off the run. A version that is still forming goes as a whole, for a
/// seat can only be given back at its end: the others, PyTorch's too, begin the next one. The key
/// of a member goes at once. EtcdError, EtcdConnectionError, SignalException.
void leave_legacy_run(sim::Ports& ports, HardenedLegacyEtcdRun& run, const std::string& run_id,
                      const LegacyStanding& standing);

}  // namespace hooke::model
