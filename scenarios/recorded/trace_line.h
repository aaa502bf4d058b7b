#pragma once
// One line of a trace file (JSON Lines), as hooke run --trace and hooke agent --trace write them.

#include <cstdint>
#include <string>
#include <string_view>

#include "scenarios/recorded/raw_event.h"

namespace hooke::scenario {

/// Of every number but a wall clock's, so that sums of some of them stay within 63 bits: 36 years in
/// nanoseconds.
inline constexpr std::int64_t kTraceNumberMax = std::int64_t{1} << 60;

/// The event type of that name: the protocol's, the world's or the harness'; nullptr when there is none.
const sim::EventType* event_type_called(std::string_view name);

struct TraceLine {
  RawEvent event;            ///< its NodeId is for the reader of all lines to give
  std::string node;          ///< name; empty: the harness
  std::uint64_t id = 0;      ///< as its file numbers it
  std::uint64_t parent = 0;  ///< likewise; 0: none
};

/// `source` names the line in messages: "a.jsonl: line 3". ScenarioError, with the place inside the
/// line, when it is no event: broken JSON, an unknown type, a field that is missing, of the wrong
/// kind or unknown.
TraceLine read_trace_line(std::string_view line, const std::string& source);

}  // namespace hooke::scenario
