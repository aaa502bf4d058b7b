#pragma once
// The `sometimes` points of the model: rare but legal turns that a search should take at least
// once. One list, so that a hunt can say which it has never seen.

#include <array>
#include <string_view>

namespace hooke::model::coverage {

inline constexpr std::string_view kSelfEvicted = "self_evicted";  ///< found itself struck off
inline constexpr std::string_view kCasLost = "cas_lost";  ///< somebody wrote the state first
inline constexpr std::string_view kLateJoinerWaits = "late_joiner_waits";
inline constexpr std::string_view kRedundancyListUsed = "redundancy_list_used";
inline constexpr std::string_view kRollback = "rollback";  ///< left the wait list for a new round
inline constexpr std::string_view kDeadlineExtended = "deadline_extended";
inline constexpr std::string_view kLastCallExpired = "last_call_expired";
/// The store's host is done and serves on for the agents that still need it.
inline constexpr std::string_view kStoreLingers = "store_lingers";

inline constexpr std::array kAll{kSelfEvicted,        kCasLost,     kLateJoinerWaits,
                                 kRedundancyListUsed, kRollback,    kDeadlineExtended,
                                 kLastCallExpired,    kStoreLingers};

}  // namespace hooke::model::coverage
