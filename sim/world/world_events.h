#pragma once
// Events that the world itself puts on the trace. None knows elastic words.

#include "sim/port/trace.h"

namespace hooke::world::events {

using sim::EventType;

inline constexpr EventType node_crashed{"node.crashed", {"name"}};
inline constexpr EventType node_restarted{"node.restarted", {"name"}};
/// `parent_pid` 0: started by the harness. `run`/`role` come from the program's own events.
inline constexpr EventType process_started{"process.started", {"parent_pid", "program", "group"}};
/// `status`: Python's convention (exit code or minus signal number).
inline constexpr EventType process_ended{"process.ended", {"status"}};
/// A process lost its parent while running.
inline constexpr EventType process_orphaned{"process.orphaned", {"parent_pid"}};
/// `from_pid` 0: the harness. `target_born`: event that started the target, so that pid reuse
/// shows.
inline constexpr EventType process_signalled{"process.signalled",
                                             {"from_pid", "target_pid", "signal", "target_born"}};
inline constexpr EventType process_paused{"process.paused", {}};
inline constexpr EventType process_resumed{"process.resumed", {}};
/// What a process that was started from outside has asked of others on the connections that it
/// has made, from `since` on (true time since the start of the run) and for 10 s, or to its end
/// where that is sooner. `connects`: attempts to connect, `messages`: writes. Told when it asks
/// again, which may be much later, or ends.
inline constexpr EventType process_asked{"process.asked", {"since", "connects", "messages"}};
inline constexpr EventType listener_opened{"listener.opened", {"port"}};
/// Closed by its owner while that lived; the end of a process closes its listeners without a word.
inline constexpr EventType listener_closed{"listener.closed", {"port"}};
/// The schedule keeps a fiber that is ready from running, as a busy machine would (delays).
inline constexpr EventType fiber_held_up{"fiber.held_up", {"fiber", "span"}};
/// The `number`-th request of this machine has arrived at a service of machine `to`; `bytes`: how
/// it begins, in hexadecimal digits. Only where the order of requests is searched.
inline constexpr EventType request_arrived{"request.arrived", {"to", "port", "number", "bytes"}};
/// `kind` is the scenario's word where there is one. `for`: how long it is to last; 0: until
/// healed, or no time at all where its kind is instantaneous.
inline constexpr EventType fault_injected{"fault.injected", {"fault", "kind", "target", "for"}};
inline constexpr EventType fault_took_effect{"fault.took_effect", {"fault", "kind"}};
/// `lingers`: for how long what it has slowed down before goes on to be late.
inline constexpr EventType fault_ended{"fault.ended", {"fault", "kind", "lingers"}};
/// From now on only the machines `nodes` (names with commas between them), the stores that they
/// need and the paths among them are sound; what is broken elsewhere stays so, and nothing is
/// injected any more. `work`: how long one run of the programs on them takes at most when nothing
/// fails; `peers`: how long they wait for a peer that is lost, -1 for ever; `endless`: those that
/// never end by themselves, as a scenario calls them ("b/1" for the first run there, "c/*" for
/// every one, "*" for all others).
inline constexpr EventType core_healed{"core.healed", {"nodes", "work", "peers", "endless"}};
inline constexpr EventType fault_point_passed{"fault_point.passed", {"name", "passage"}};

}  // namespace hooke::world::events
