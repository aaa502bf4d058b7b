#pragma once
// What a worker pool does, on the trace.

#include "sim/port/trace.h"

namespace hooke::model::events {

inline constexpr sim::EventType pool_leased{
    "pool.leased",
    {"lease", "slots", "free"},
    "A client of a worker pool has so many slots now; free: those left."};
inline constexpr sim::EventType pool_reclaimed{
    "pool.reclaimed",
    {"lease", "slots", "killed"},
    "A lease of a worker pool is over. killed: its workers that were running still."};

}  // namespace hooke::model::events
