#pragma once
// A name such as "rollback" tells a reader of a hunt's gaps too little: what has happened where each
// coverage point of the model is passed, for hooke list and hooke help.

#include <array>
#include <string_view>
#include <utility>

#include "model/observe/coverage_points.h"

namespace hooke::model::coverage {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, kAll.size()> kMeanings{{
    {kSelfEvicted,
     "an agent reads the shared state, and finds that its own node has been given up as dead"},
    {kCasLost, "a write of the shared state fails, because another node has written it before"},
    {kLateJoinerWaits, "a node that finds a complete round enters the wait list for the next one"},
    {kRedundancyListUsed, "a node that finds all seats taken enters the redundancy list"},
    {kRollback,
     "a node on the wait list has reached its join time-out, and takes itself off the list"},
    {kDeadlineExtended,
     "a spare leaves the redundancy list for a free seat, and its join time-out begins anew"},
    {kLastCallExpired,
     "a round with at least min_nodes completes when its last call ends, without max_nodes"},
    {kStoreLingers, "the agent with the store is done, and serves on for agents that need it"},
}};

}  // namespace hooke::model::coverage
