#pragma once
// What one node of a dynamic rendezvous reads and writes, as events, marks and counts of the trace.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/observe/coverage_points.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/dynamic/state_witness.h"
#include "sim/port/check.h"

namespace hooke::model {

/// Compare-and-sets of one node since its latest join began.
struct WriteCost {
  std::uint64_t attempts = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t bytes = 0;
};

/// Puts accepted writes on the trace; rejected ones, of which there may be millions, are only
/// counted.
class WriteTracer final : public StateHolder::Observer {
 public:
  WriteTracer(sim::Trace& trace, sim::Clock& clock, const RendezvousSettings& settings)
      : trace_(trace), settings_(settings), witness_(trace, clock, settings.run_id) {}

  void on_write(const std::vector<PendingChange>& changes, const std::vector<DeadNode>& dead,
                std::optional<bool> accepted, std::size_t bytes) override;
  void on_read(const RendezvousState* stored, sim::MonotonicTime began) override {
    witness_.read(stored, began);
  }
  void on_lost(const RendezvousState& stored, sim::MonotonicTime began) override {
    witness_.lost(stored, began);
  }
  void on_offered(const RendezvousState& offered, bool certain, sim::MonotonicTime began) override {
    witness_.offered(offered, certain, began);
  }
  void on_own_death() override { trace_.emit(events::coverage_point, {coverage::kSelfEvicted}); }

  WriteCost cost;

 private:
  void on_accepted(const PendingChange& change, std::size_t bytes);
  void added(const PendingChange& change, const char* list) {
    HOOKE_CHECK(change.members > 0, "the list is not empty after a node was added");
    trace_.emit(events::rendezvous_added, {settings_.run_id, change.round, list, change.members});
  }

  sim::Trace& trace_;
  const RendezvousSettings& settings_;
  StateWitness witness_;
  bool lost_one_ = false;
};

}  // namespace hooke::model
