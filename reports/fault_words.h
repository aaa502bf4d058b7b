#pragma once
// The world's faults have fewer names than scenario files have words: agent.kill, agent.signal,
// worker.signal and others are all "process_signal" on a trace. A reader looks for the word of the
// file.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// Finds the words from what a trace has said so far: it tells each entry of the timeline
/// ("timeline.acted") before the faults that carry it out.
class FaultWords {
 public:
  /// To be called for every event, in order, before the faults are named.
  void see(const sim::Event& event);
  /// The word for the fault of a fault.injected or fault.ended that was seen last, "agent.kill". Its
  /// kind where no word of the scenario did it and none is called like the kind.
  [[nodiscard]] std::string of(const sim::Event& event) const;

 private:
  /// The word of the entry that carries out a fault of `kind`, begun by the event `parent`.
  [[nodiscard]] std::string find(std::string_view kind, std::uint64_t parent) const;

  std::map<std::uint64_t, std::string> acted_;            ///< by event: the entry's word
  std::map<std::string, std::string, std::less<>> last_;  ///< by kind: the word that came last
  std::map<std::int64_t, std::string> named_;             ///< by number of the fault
};

}  // namespace hooke::report
