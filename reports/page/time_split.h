#pragma once
// Where the time of a job went: each moment of it is one of these, whatever its nodes did then.

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/run_record.h"

namespace hooke::report {

enum class Spent : unsigned char {
  useful,      ///< trained, and what was done was not done again
  lost,        ///< trained before a restart, after which a program begins anew (no checkpoint is
               ///< simulated), or in a job that did not succeed
  detection,   ///< a worker had died, and its peers still waited for it
  restart,     ///< workers were ended in order to be started again
  rendezvous,  ///< nodes met
  leaving,     ///< exit barrier and end
  idle,        ///< no agent of the job lived
};
inline constexpr std::size_t kWays = 7;

/// "useful training", "training, then done again or in vain".
std::string_view title_of(Spent spent);
/// "useful": a class of the style sheet.
std::string_view class_of(Spent spent);

struct Slice {
  Spent spent{};
  sim::WorldTime from{}, to{};
};

struct TimeSplit {
  std::string run_id;
  std::vector<Slice> slices;  ///< in order of time, without gaps, neighbours differ
  std::array<sim::Duration, kWays> total{};
  [[nodiscard]] sim::Duration whole() const;
  [[nodiscard]] sim::Duration of(Spent spent) const {
    return total[static_cast<std::size_t>(spent)];
  }
};

/// One per job, in order of the first moment of each; what those `in_vain` trained is lost. Where nodes do different things at one
/// moment, the job does what comes first here: trains, waits for a dead peer, restarts, meets,
/// leaves.
std::vector<TimeSplit> split_time(const std::vector<Lane>& lanes,
                                  const std::set<std::string>& in_vain);

}  // namespace hooke::report
