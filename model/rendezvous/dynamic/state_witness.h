#pragma once
// What one node learns of the place where its job's state lies, told on the trace so that a judge
// can compare it with what others have learnt there.

#include <cstdint>
#include <optional>
#include <string>

#include "model/rendezvous/state/state.h"
#include "sim/port/clock.h"
#include "sim/port/trace.h"

namespace hooke::model {

/// Tells every write that may have been carried out, and of the reads the first that shows a state
/// and the last. A write that this node has lost is a read. If the node is killed during a
/// write, the trace has no event for it: assume that the write expected the value told last.
class StateWitness {
 public:
  /// All three must outlive this.
  StateWitness(sim::Trace& trace, sim::Clock& clock, const std::string& run_id)
      : trace_(trace), clock_(clock), run_id_(run_id) {}

  // Each is told when an exchange that began at `began` has just ended.

  /// `stored` stands there; null: nothing.
  void read(const RendezvousState* stored, sim::MonotonicTime began);
  /// A write was lost to `stored`. When that is what it expected there was nothing to lose to: a
  /// c10d store answers so where the key is gone (S-4).
  void lost(const RendezvousState& stored, sim::MonotonicTime began);
  /// `offered` was written; or, not `certain`, the outcome is unknown.
  void offered(const RendezvousState& offered, bool certain, sim::MonotonicTime began);

 private:
  struct Span {
    sim::MonotonicTime began, ended;
  };
  void tell(const char* kind, std::int64_t expected, std::int64_t value, const Span& span);
  void tell_last_look();

  sim::Trace& trace_;
  sim::Clock& clock_;
  const std::string& run_id_;
  std::optional<std::int64_t> known_;  ///< digest of what stands there, for all this node knows
  std::optional<Span> last_look_;      ///< the latest that showed the same once more
};

}  // namespace hooke::model
