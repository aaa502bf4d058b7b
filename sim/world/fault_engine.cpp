// One branch per kind of fault, grouped by what it acts on.
#include "sim/world/fault_engine.h"

#include <algorithm>

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
  }
  return "?";
}

void FaultLog::feel(FaultId fault) {
  Entry& entry = entries_[fault.value];
  if (entry.felt++ == 0) world_.emit(events::fault_felt, {fault.value, to_string(entry.kind)});
}

bool FaultLog::end(FaultId fault) {
  Entry& entry = entries_[fault.value];
  if (entry.ended) return false;
  entry.ended = true;
  world_.emit(events::fault_ended, {fault.value, to_string(entry.kind)});
  return true;
}

FaultId FaultEngine::inject(const Fault& fault) {
  const FaultId id = log_.add(fault.kind);
  std::string target = fault.node ? world_.node_name(*fault.node) : "";
  if (fault.pid) target += " pid " + std::to_string(fault.pid->value);
  for (const sim::NodeId node : fault.paths.from)
    target += (target.empty() ? "" : ",") + world_.node_name(node);
  if (!fault.paths.to.empty()) target += fault.paths.one_way ? " →" : " ↔";
  for (const sim::NodeId node : fault.paths.to) target += " " + world_.node_name(node);
  world_.emit(events::fault_injected,
              {id.value, to_string(fault.kind), target, fault.duration});
  act(id, fault);
  if (fault.duration > sim::Duration::zero()) {
    lasting_[id] = fault;
    kernel_.at(kernel_.now() + fault.duration, {&FaultEngine::on_time_over, this, id.value});
  } else {
    lasting_[id] = fault;
  }
  return id;
}

void FaultEngine::on_time_over(void* self, std::uint64_t fault) {
  static_cast<FaultEngine*>(self)->heal(FaultId{static_cast<std::uint32_t>(fault)});
}

void FaultEngine::heal(FaultId fault) {
  const auto found = lasting_.find(fault);
  if (found == lasting_.end()) return;
  const Fault what = found->second;
  lasting_.erase(found);
  log_.end(fault);
  undo(fault, what);
}

void FaultEngine::act(FaultId id, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::net_partition:
    case FaultKind::net_delay:
    case FaultKind::net_loss:
    case FaultKind::net_clog:
    case FaultKind::net_bandwidth:
      network_.links().add(fault.paths,
                           {id, fault.kind, fault.span, fault.amount, fault.ratio_ppm});
      return;
    case FaultKind::net_reset: return network_.reset_paths(fault.paths, id);
    case FaultKind::dns_alias:
      network_.aliases[fault.text] = fault.node.value();
      log_.feel(id);
      return;
    case FaultKind::dns_unresolvable:
      network_.unresolvable.push_back({id, fault.text, fault.node});
      return;
    default: break;
  }
  if (!fault.node) return;
  Machine& machine = *machines_.at(fault.node->value);
  if (fault.pid) {
    if (SimProcess* const process = processes_.find(machine, *fault.pid)) {
      act_on_process(id, fault, *process);
    } else if (fault.kind == FaultKind::pid_reuse) {
      machine.reused_pids.emplace_back(id, *fault.pid);
    }
  } else {
    act_on_machine(id, fault, machine);
  }
}

void FaultEngine::act_on_process(FaultId id, const Fault& fault, SimProcess& process) {
  if (process.dead()) return;
  victims_[id] = &process;
  if (fault.kind != FaultKind::fiber_dies && fault.kind != FaultKind::pid_reuse) log_.feel(id);
  switch (fault.kind) {
    case FaultKind::process_signal:
      static_cast<void>(processes_.signal(process, fault.signal, nullptr));
      return;
    case FaultKind::process_pause: return processes_.pause(process);
    case FaultKind::process_hang: return processes_.hang(process);
    case FaultKind::process_exit:
      return processes_.end(process, {static_cast<int>(fault.amount), std::nullopt});
    case FaultKind::process_unkillable: return processes_.set_unkillable(process, true);
    case FaultKind::fiber_dies:
      if (processes_.kill_fiber(process, fault.text)) log_.feel(id);
      return;
    case FaultKind::pid_reuse: process.machine().reused_pids.emplace_back(id, *fault.pid); return;
    default: return;
  }
}

void FaultEngine::act_on_machine(FaultId id, const Fault& fault, Machine& machine) {
  const sim::WorldTime now = kernel_.now();
  switch (fault.kind) {
    case FaultKind::node_crash:
      if (!machine.up) return;
      log_.feel(id);
      processes_.crash(machine);
      world_.emit(events::node_crashed, {machine.name});
      return;
    case FaultKind::node_restart:
      if (machine.up) return;
      log_.feel(id);
      machine.up = true;
      ++machine.boots;
      world_.emit(events::node_restarted, {machine.name});
      return;
    case FaultKind::service_slow:
    case FaultKind::service_stop:
    case FaultKind::service_error:
    case FaultKind::service_reply_lost: return act_on_service(id, fault, machine);
    case FaultKind::clock_skew: {
      const sim::WallTime truth = world_.true_wall_time();
      machine.clock.set_wall(truth + fault.span, now);
      log_.feel(id);
      return;
    }
    case FaultKind::clock_jump:
      machine.clock.jump(fault.span);
      log_.feel(id);
      return;
    case FaultKind::clock_drift: {
      // Whoever sleeps by the old rate is woken by the new one.
      const NodeClock before = machine.clock;
      machine.clock.set_drift(fault.amount, now);
      processes_.move_deadlines(machine, [&](sim::WorldTime deadline) {
        return machine.clock.world_time_of(before.monotonic(deadline), now);
      });
      log_.feel(id);
      return;
    }
    case FaultKind::clock_freeze:
      machine.clock.freeze(fault.duration, now);
      processes_.move_deadlines(machine,
                                [&](sim::WorldTime deadline) { return deadline + fault.duration; });
      log_.feel(id);
      return;
    case FaultKind::port_busy: machine.busy_ports[fault.port.value] = id; return;
    case FaultKind::port_steal: machine.port_thieves.push_back(id); return;
    case FaultKind::disk_full:
      machine.disk.full = true;
      machine.disk.felt_full = [this, id] { log_.feel(id); };
      return;
    case FaultKind::disk_short_write:
      machine.disk.next_write_keeps = static_cast<std::size_t>(fault.amount);
      machine.disk.felt_full = [this, id] { log_.feel(id); };
      return;
    default: return;
  }
}

void FaultEngine::act_on_service(FaultId id, const Fault& fault, Machine& machine) {
  network_.service(machine, fault.port.value)
      .faults.push_back({id, fault.kind, fault.span, std::max<std::int64_t>(fault.amount, 1), 0});
}

void FaultEngine::undo(FaultId id, const Fault& fault) {
  network_.links().remove(id);
  std::erase_if(network_.unresolvable, [&](const auto& entry) { return entry.fault == id; });
  network_.path_changed();
  if (const auto victim = victims_.find(id); victim != victims_.end()) {
    if (fault.kind == FaultKind::process_pause) processes_.resume(*victim->second);
    if (fault.kind == FaultKind::process_unkillable)
      processes_.set_unkillable(*victim->second, false);
  }
  if (!fault.node) return;
  Machine& machine = *machines_.at(fault.node->value);
  std::erase_if(machine.busy_ports, [&](const auto& entry) { return entry.second == id; });
  std::erase(machine.port_thieves, id);
  if (fault.kind == FaultKind::disk_full) machine.disk.full = false;
  if (fault.port.value != 0) {
    ServiceState& service = network_.service(machine, fault.port.value);
    std::erase_if(service.faults, [&](const LinkFault& entry) { return entry.id == id; });
    network_.service_changed(service);
  }
}

}  // namespace hooke::world
