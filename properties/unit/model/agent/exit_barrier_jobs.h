#pragma once
// Jobs that come to their exit barrier, and what they say to the store there.

#include <string>
#include <utility>
#include <vector>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {

inline constexpr char kPrefix[] = "torchelastic/agent/terminal_state";

/// A job whose agents' workers run for the given spans and end well.
inline void run_spans(TestJob& job, std::vector<Duration> spans) {
  job.worker = [spans = std::move(spans)](Ports& ports) {
    world::sleep(ports, spans.at(static_cast<std::size_t>(number_of(ports, "GROUP_RANK"))));
    return 0;
  };
  job.start_and_run();
}

/// What was called on the store for the barrier, by all agents in order.
inline std::vector<std::string> barrier_calls(TestJob& job) {
  std::vector<std::string> found;
  for (const std::string& call : job.store(1)->calls) {
    const std::size_t at = call.find(kPrefix);
    if (at != std::string::npos) found.push_back(call.substr(0, at) + call.substr(at + 33));
  }
  return found;
}

}  // namespace hooke::model
