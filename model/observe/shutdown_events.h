#pragma once
// What manners of shutting a rendezvous down other than PyTorch's add to the trace (see
// trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

inline constexpr sim::EventType shutdown_settings{
    "shutdown.settings",
    {"manner", "limit"},
    "How the agent closes its rendezvous. limit: how long it may wait for the others before."};
inline constexpr sim::EventType shutdown_waiting{
    "shutdown.waiting",
    {"run_id", "others", "limit"},
    "Before it closes the rendezvous the agent waits for others, of which so many are at work."};
inline constexpr sim::EventType shutdown_waited{
    "shutdown.waited",
    {"run_id", "others", "waited"},
    "The wait before the closing is over. others: those still at work when the limit was over."};

}  // namespace hooke::model::events
