// Names of faults, and the events about them.
#include "sim/world/fault_log.h"

#include <utility>

#include "sim/port/check.h"

namespace hooke::world {

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::process_signal: return "process_signal";
    case FaultKind::process_pause: return "process_pause";
    case FaultKind::process_hang: return "process_hang";
    case FaultKind::process_exit: return "process_exit";
    case FaultKind::process_unkillable: return "process_unkillable";
    case FaultKind::fiber_dies: return "fiber_dies";
    case FaultKind::node_crash: return "node_crash";
    case FaultKind::node_restart: return "node_restart";
    case FaultKind::net_partition: return "net_partition";
    case FaultKind::net_delay: return "net_delay";
    case FaultKind::net_loss: return "net_loss";
    case FaultKind::net_reset: return "net_reset";
    case FaultKind::net_clog: return "net_clog";
    case FaultKind::net_bandwidth: return "net_bandwidth";
    case FaultKind::service_slow: return "service_slow";
    case FaultKind::service_stop: return "service_stop";
    case FaultKind::service_error: return "service_error";
    case FaultKind::service_reply_lost: return "service_reply_lost";
    case FaultKind::clock_skew: return "clock_skew";
    case FaultKind::clock_jump: return "clock_jump";
    case FaultKind::clock_drift: return "clock_drift";
    case FaultKind::clock_freeze: return "clock_freeze";
    case FaultKind::dns_alias: return "dns_alias";
    case FaultKind::dns_unresolvable: return "dns_unresolvable";
    case FaultKind::port_busy: return "port_busy";
    case FaultKind::port_steal: return "port_steal";
    case FaultKind::pid_reuse: return "pid_reuse";
    case FaultKind::disk_full: return "disk_full";
    case FaultKind::disk_short_write: return "disk_short_write";
    case FaultKind::spawn_fails: return "spawn_fails";
    case FaultKind::process_deaf: return "process_deaf";
    case FaultKind::disk_stall: return "disk_stall";
    case FaultKind::process_raise: return "process_raise";
  }
  return "?";
}

void FaultLog::feel(FaultId fault) {
  HOOKE_CHECK(fault.value < entries_.size(), "a fault that is felt was injected");
  Entry& entry = entries_[fault.value];
  // Long after one reply the next request may come.
  const bool anew = entry.kind == FaultKind::service_reply_lost;
  if (!std::exchange(entry.told, true) || anew)
    world_.emit(events::fault_took_effect, {fault.value, to_string(entry.kind)});
  use(fault);
}

void FaultLog::use(FaultId fault) {
  HOOKE_CHECK(fault.value < entries_.size(), "a fault that is used was injected");
  Entry& entry = entries_[fault.value];
  ++entry.felt;
  for (auto earlier = entry.earlier; earlier; earlier = entries_[earlier->value].earlier) {
    ++entries_[earlier->value].felt;
  }
}

void FaultLog::end(FaultId fault, sim::Duration lingers) {
  HOOKE_CHECK(lingers >= sim::Duration::zero(), "what a fault slowed down is not early");
  world_.emit(events::fault_ended, {fault.value, to_string(kind(fault)), lingers});
}

}  // namespace hooke::world
