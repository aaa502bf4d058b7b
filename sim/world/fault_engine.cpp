// One branch per kind of fault, grouped by what it acts on; undo() takes back what lasts.
#include "sim/world/fault_engine.h"

#include <algorithm>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::world {
namespace {

/// Stands for "until healed": far beyond any run, and far from overflow.
constexpr sim::WorldTime kForEver{std::chrono::hours(24 * 365 * 50)};

enum class Target : unsigned char { paths, name, process, machine };

Target target_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::net_partition:
    case FaultKind::net_delay:
    case FaultKind::net_loss:
    case FaultKind::net_reset:
    case FaultKind::net_clog:
    case FaultKind::net_bandwidth: return Target::paths;
    case FaultKind::dns_unresolvable: return Target::name;
    case FaultKind::process_signal:
    case FaultKind::process_pause:
    case FaultKind::process_hang:
    case FaultKind::process_exit:
    case FaultKind::process_unkillable:
    case FaultKind::process_deaf:
    case FaultKind::process_raise:
    case FaultKind::fiber_dies:
    case FaultKind::pid_reuse: return Target::process;
    default: return Target::machine;
  }
}

void require_parameters(const Fault& fault) {
  const Target target = target_of(fault.kind);
  const bool needs_node = target == Target::process || target == Target::machine;
  if (needs_node && !fault.node) {
    throw std::invalid_argument(std::string(to_string(fault.kind)) + " needs a node");
  }
  if (fault.kind == FaultKind::clock_drift && !NodeClock::can_drift(fault.amount)) {
    throw std::invalid_argument("a clock cannot drift by " + std::to_string(fault.amount) + " ppb");
  }
  if (target == Target::process && !fault.pid) {
    throw std::invalid_argument(std::string(to_string(fault.kind)) + " needs a pid");
  }
}

}  // namespace

FaultId FaultEngine::inject(const Fault& fault) {
  require_parameters(fault);
  HOOKE_CHECK(fault.duration >= sim::Duration::zero(), "a fault does not end before it begins");
  const FaultId id = log_.add(fault.kind);
  world_.emit(events::fault_injected,
              {id.value, to_string(fault.kind), describe_target(fault), fault.duration});
  HOOKE_CHECK(!lasting_.contains(id), "a fault is injected once");
  lasting_[id] = fault;
  act(id, fault);
  if (fault.duration > sim::Duration::zero()) {
    kernel_.at(kernel_.now() + fault.duration, {&FaultEngine::on_time_over, this, id.value});
  }
  return id;
}

std::string FaultEngine::describe_target(const Fault& fault) const {
  std::string target = fault.node ? world_.node_name(*fault.node) : "";
  if (fault.pid) target += " pid " + std::to_string(fault.pid->value);
  for (const sim::NodeId node : fault.paths.from) {
    target += (target.empty() ? "" : ",") + world_.node_name(node);
  }
  if (!fault.paths.to.empty()) target += fault.paths.one_way ? " ->" : " <->";
  for (const sim::NodeId node : fault.paths.to) target += " " + world_.node_name(node);
  return target;
}

void FaultEngine::on_time_over(void* self, std::uint64_t fault) {
  HOOKE_CHECK(fault <= UINT32_MAX, "a timer carries the number of a fault");
  static_cast<FaultEngine*>(self)->heal(FaultId{static_cast<std::uint32_t>(fault)});
}

void FaultEngine::heal(FaultId fault) {
  const auto found = lasting_.find(fault);
  if (found == lasting_.end()) return;
  const Fault what = found->second;
  lasting_.erase(found);
  HOOKE_CHECK(log_.kind(fault) == what.kind, "a fault ends as what it began");
  log_.end(fault, lingers(fault, what));
  undo(fault, what);
}

/// What was under way when the fault ended is as late as it has been made.
sim::Duration FaultEngine::lingers(FaultId id, const Fault& fault) {
  if (log_.felt(id) == 0) return {};
  switch (fault.kind) {
    case FaultKind::net_delay: return fault.span;
    case FaultKind::net_bandwidth: return network_.links().backlog(id, kernel_.now());
    case FaultKind::service_slow:
      return network_.service(*machines_.at(fault.node->value), fault.port.value)
          .busy_for(kernel_.now());
    default: return {};
  }
}

// ---- taking effect ------------------------------------------------------------------------------

void FaultEngine::act(FaultId id, const Fault& fault) {
  switch (target_of(fault.kind)) {
    case Target::paths:
      if (fault.kind == FaultKind::net_reset) return network_.reset_paths(fault.paths, id);
      network_.links().add(fault.paths,
                           {id, fault.kind, fault.span, fault.amount, fault.ratio_ppm});
      return;
    case Target::name: network_.unresolvable.push_back({id, fault.text, fault.node}); return;
    case Target::process: {
      Machine& machine = *machines_.at(fault.node->value);
      if (fault.kind == FaultKind::pid_reuse) {
        machine.reused_pids.emplace_back(id, *fault.pid);
      } else if (SimProcess* const process = processes_.find(machine, *fault.pid)) {
        act_on_process(id, fault, *process);
      }
      return;
    }
    case Target::machine: return act_on_machine(id, fault, *machines_.at(fault.node->value));
  }
}

void FaultEngine::act_on_process(FaultId id, const Fault& fault, SimProcess& process) {
  if (process.dead()) return;
  HOOKE_CHECK(!victims_.contains(id), "a fault has one victim");
  victims_[id] = &process;
  if (fault.kind == FaultKind::fiber_dies) {
    if (processes_.kill_fiber(process, fault.text)) log_.feel(id);
    return;
  }
  HOOKE_CHECK(fault.pid == process.self(), "a fault hits the process that it names");
  if (fault.kind == FaultKind::process_raise) return process.raise_at_point(id, fault.text);
  log_.feel(id);
  switch (fault.kind) {
    case FaultKind::process_signal:
      static_cast<void>(processes_.signal(process, fault.signal, nullptr));
      return;
    case FaultKind::process_pause: return processes_.pause(process);
    case FaultKind::process_hang: return processes_.set_hung(process, true);
    case FaultKind::process_exit:
      return processes_.end(process, {static_cast<int>(fault.amount & 0xff), std::nullopt});
    case FaultKind::process_unkillable: return processes_.set_unkillable(process, true);
    case FaultKind::process_deaf: return processes_.set_deaf(process, true);
    default: return;
  }
}

void FaultEngine::act_on_machine(FaultId id, const Fault& fault, Machine& machine) {
  switch (fault.kind) {
    case FaultKind::node_crash: return crash(id, machine);
    case FaultKind::node_restart: return restart(id, machine);
    case FaultKind::dns_alias: network_.aliases.push_back({id, fault.text, &machine}); return;
    case FaultKind::service_slow:
    case FaultKind::service_stop:
    case FaultKind::service_error:
    case FaultKind::service_reply_lost:
      network_.service(machine, fault.port.value)
          .faults.push_back(
              {id, fault.kind, fault.span, std::max<std::int64_t>(fault.amount, 1), 0});
      return;
    case FaultKind::clock_skew:
    case FaultKind::clock_jump:
    case FaultKind::clock_drift:
    case FaultKind::clock_freeze: return act_on_clock(id, fault, machine);
    case FaultKind::port_busy: machine.busy_ports[fault.port.value] = id; return;
    case FaultKind::port_steal: machine.port_thieves.push_back(id); return;
    case FaultKind::disk_full:
    case FaultKind::disk_stall:
    case FaultKind::disk_short_write: return act_on_disk(id, fault, machine);
    case FaultKind::spawn_fails:
      machine.spawn_failures.emplace_back(id, std::max<std::int64_t>(fault.amount, 0));
      return;
    default: return;
  }
}

void FaultEngine::crash(FaultId id, Machine& machine) {
  if (!machine.up) return;
  const bool alive = std::any_of(machine.table.begin(), machine.table.end(),
                                 [](const auto& entry) { return !entry.second->dead(); });
  if (alive) log_.feel(id);
  HOOKE_CHECK(!machine.crash, "a machine that is up has no crash");
  machine.crash = id;
  world_.emit(events::node_crashed, {machine.name});
  processes_.crash(machine);
}

void FaultEngine::restart(FaultId id, Machine& machine) {
  if (machine.up) return;
  HOOKE_CHECK(machine.table.empty(), "a machine that is down has no process");
  log_.feel(id);
  machine.up = true;
  machine.crash.reset();
  ++machine.boots;
  world_.emit(events::node_restarted, {machine.name});
  network_.machine_restarted(machine);
}

bool FaultEngine::move_sleepers(Machine& machine, const NodeClock& before) {
  const sim::WorldTime now = kernel_.now();
  return processes_.move_deadlines(machine, [&](sim::WorldTime deadline) {
    return machine.clock.world_time_of(before.monotonic(deadline), now);
  });
}

/// The clock stands until the last of the faults that hold it is over.
void FaultEngine::hold_clock(Machine& machine) {
  sim::WorldTime until{};
  for (const auto& [fault, end] : machine.clock_holds) until = std::max(until, end);
  HOOKE_CHECK(machine.clock_holds.empty() || until > sim::WorldTime{},
              "a clock that is held is held for some time");
  machine.clock.hold_until(until, kernel_.now());
}

void FaultEngine::act_on_clock(FaultId id, const Fault& fault, Machine& machine) {
  const sim::WorldTime now = kernel_.now();
  if (fault.kind == FaultKind::clock_skew || fault.kind == FaultKind::clock_jump) {
    if (fault.kind == FaultKind::clock_skew) {
      machine.clock.set_wall(world_.true_wall_time() + fault.span, now);
    } else {
      machine.clock.jump(fault.span);
    }
    HOOKE_CHECK(!fault.pid, "a fault of a clock names no process");
    machine.unfelt_wall_faults.push_back(id);
    return;
  }
  const NodeClock before = machine.clock;
  if (fault.kind == FaultKind::clock_drift) {
    HOOKE_CHECK(NodeClock::can_drift(fault.amount), "a clock that drifts goes on");
    machine.clock.set_drift(fault.amount, now);
  } else {
    const bool ends = fault.duration > sim::Duration::zero();
    machine.clock_holds[id] = ends ? now + fault.duration : kForEver;
    hold_clock(machine);
  }
  if (move_sleepers(machine, before)) {
    log_.feel(id);
  } else {
    machine.unfelt_clock_faults.push_back(id);
  }
}

void FaultEngine::act_on_disk(FaultId id, const Fault& fault, Machine& machine) {
  machine.disk.felt = [this](FaultId felt) { log_.feel(felt); };
  if (fault.kind == FaultKind::disk_full) {
    machine.disk.full_because.push_back(id);
  } else if (fault.kind == FaultKind::disk_stall) {
    machine.disk.stalled_because.push_back(id);
  } else {
    HOOKE_CHECK(fault.amount >= 0, "a short write stores something or nothing");
    machine.disk.next_write = Disk::ShortWrite{id, static_cast<std::size_t>(fault.amount)};
  }
}

// ---- being taken back ---------------------------------------------------------------------------

void FaultEngine::undo(FaultId id, const Fault& fault) {
  switch (target_of(fault.kind)) {
    case Target::paths:
      network_.links().remove(id);
      network_.path_changed();
      return;
    case Target::name:
      std::erase_if(network_.unresolvable, [&](const auto& entry) { return entry.fault == id; });
      return;
    case Target::process: {
      std::erase_if(machines_.at(fault.node->value)->reused_pids,
                    [&](const auto& entry) { return entry.first == id; });
      const auto victim = victims_.find(id);
      if (victim == victims_.end()) return;
      SimProcess& process = *victim->second;
      if (fault.kind == FaultKind::process_pause) processes_.resume(process);
      if (fault.kind == FaultKind::process_hang) processes_.set_hung(process, false);
      if (fault.kind == FaultKind::process_unkillable) processes_.set_unkillable(process, false);
      if (fault.kind == FaultKind::process_deaf) processes_.set_deaf(process, false);
      if (fault.kind == FaultKind::process_raise) process.raise_no_more(id);
      return;
    }
    case Target::machine: return undo_on_machine(id, fault, *machines_.at(fault.node->value));
  }
}

void FaultEngine::undo_on_machine(FaultId id, const Fault& fault, Machine& machine) {
  HOOKE_CHECK(!lasting_.contains(id), "a fault that is undone lasts no more");
  std::erase_if(network_.aliases, [&](const auto& entry) { return entry.fault == id; });
  std::erase_if(machine.busy_ports, [&](const auto& entry) { return entry.second == id; });
  std::erase(machine.port_thieves, id);
  std::erase(machine.disk.full_because, id);
  if (std::erase(machine.disk.stalled_because, id) > 0) SimFiles::let_go_on(machine.disk);
  std::erase_if(machine.spawn_failures, [&](const auto& entry) { return entry.first == id; });
  std::erase(machine.unfelt_clock_faults, id);
  std::erase(machine.unfelt_wall_faults, id);
  if (machine.disk.next_write && machine.disk.next_write->fault == id) {
    machine.disk.next_write.reset();
  }
  if (machine.clock_holds.erase(id) > 0) {
    const NodeClock before = machine.clock;
    hold_clock(machine);
    move_sleepers(machine, before);
  }
  const auto service = machine.services.find(fault.port.value);
  if (service != machine.services.end()) {
    std::erase_if(service->second->faults, [&](const LinkFault& entry) { return entry.id == id; });
    network_.service_changed(*service->second);
  }
}

}  // namespace hooke::world
