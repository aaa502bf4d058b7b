#pragma once
// Events that the world itself puts on the trace. None knows elastic words.

#include "sim/port/trace.h"

namespace hooke::world::events {

using sim::EventType;

inline constexpr EventType node_crashed{
    "node.crashed", {"name"}, "A machine went down with all its processes."};
inline constexpr EventType node_restarted{
    "node.restarted", {"name"}, "A machine is up again, without processes."};
inline constexpr EventType process_started{
    "process.started",
    {"parent_pid", "program", "group"},
    "A process begins. parent_pid: 0 where the harness started it."};
inline constexpr EventType process_ended{
    "process.ended",
    {"status"},
    "A process ended. status: exit code, or minus the signal's number."};
inline constexpr EventType process_orphaned{
    "process.orphaned", {"parent_pid"}, "A process lost its parent while running."};
inline constexpr EventType process_signalled{
    "process.signalled",
    {"from_pid", "target_pid", "signal", "target_born"},
    "A process was sent a signal. from_pid: 0 for the harness. target_born: the event that started "
    "the target, so that reuse of its number shows."};
inline constexpr EventType process_paused{
    "process.paused", {}, "A process stands still (as after SIGSTOP)."};
inline constexpr EventType process_resumed{
    "process.resumed", {}, "A process that stood still goes on."};
inline constexpr EventType process_asked{
    "process.asked",
    {"since", "connects", "messages"},
    "What a process that was started from outside has asked of others on its connections, from "
    "since on and for 10 s, or to its end. connects: attempts to connect; messages: writes. Told "
    "when it asks again, which may be much later, or ends."};
inline constexpr EventType listener_opened{
    "listener.opened", {"port"}, "A process accepts connections at a port from now on."};
inline constexpr EventType listener_closed{"listener.closed",
                                           {"port"},
                                           "A process closed its port while it lived; the end of a "
                                           "process closes its ports without this event."};
inline constexpr EventType fiber_held_up{
    "fiber.held_up",
    {"fiber", "span"},
    "The schedule keeps a task that is ready from running, as a busy machine would."};
inline constexpr EventType request_arrived{
    "request.arrived",
    {"to", "port", "number", "bytes"},
    "The request with this number of this machine has arrived at a service of machine to. bytes: "
    "how it begins, in hexadecimal digits. Only where the order of requests is searched."};
inline constexpr EventType fault_injected{
    "fault.injected",
    {"fault", "kind", "target", "for"},
    "A fault begins. kind: the scenario's word where there is one. for: how long it is to last; 0: "
    "until healed, or no time at all where its kind is instantaneous."};
inline constexpr EventType fault_took_effect{
    "fault.took_effect",
    {"fault", "kind"},
    "A fault has changed something for the first time, such as the first message that it dropped."};
inline constexpr EventType fault_ended{
    "fault.ended",
    {"fault", "kind", "lingers"},
    "A fault ended. lingers: for how long what it has slowed down before goes on to be late."};
/// From now on only the machines `nodes` (names with commas between them), the stores that they
/// need and the paths among them are sound; what is broken elsewhere stays so, and nothing is
/// injected any more. `work`: how long one run of the programs on them takes at most when nothing
/// fails; `peers`: how long they wait for a peer that is lost, -1 for ever; `endless`: those that
/// never end by themselves, as a scenario calls them ("b/1" for the first run there, "c/*" for
/// every one, "*" for all others).
inline constexpr EventType core_healed{
    "core.healed",
    {"nodes", "work", "peers", "endless"},
    "From now on only the machines nodes, the stores that they need and the paths among them are "
    "sound; what is broken elsewhere stays so, and no further fault is injected. work: how long "
    "one run of their programs takes at most when nothing fails; peers: how long they wait for a "
    "lost peer, -1 for ever; endless: the programs that never end by themselves."};
inline constexpr EventType fault_point_passed{
    "fault_point.passed",
    {"name", "passage"},
    "A process has passed a fault point, a named place in its code (hooke list fault-points). "
    "passage: how often it has been there."};

}  // namespace hooke::world::events
