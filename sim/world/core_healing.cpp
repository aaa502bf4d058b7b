// A core of machines is healed and everything else stays as it is: each lasting fault is ended,
// replaced by what is left of it, or deprived of its end. The trace shows ends and
// injections only, and needs to know nothing of cores.
#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/fault_engine.h"

namespace hooke::world {
namespace {

bool is_in(const std::vector<sim::NodeId>& core, sim::NodeId node) {
  return std::find(core.begin(), core.end(), node) != core.end();
}

/// What was over the moment it happened has no end that could be brought about.
bool lasts(FaultKind kind) {
  switch (kind) {
    case FaultKind::process_signal:
    case FaultKind::process_exit:
    case FaultKind::fiber_dies:
    case FaultKind::node_crash:
    case FaultKind::node_restart:
    case FaultKind::net_reset: return false;
    default: return true;
  }
}

bool acts_on_paths(FaultKind kind) {
  switch (kind) {
    case FaultKind::net_partition:
    case FaultKind::net_delay:
    case FaultKind::net_loss:
    case FaultKind::net_clog:
    case FaultKind::net_bandwidth: return true;
    default: return false;
  }
}

}  // namespace

void FaultEngine::heal_core(const Core& core) {
  HOOKE_CHECK(!core.empty(), "a core has a machine");
  const std::map<FaultId, Fault> before = lasting_;
  for (const auto& [id, fault] : before) {
    if (lasts(fault.kind)) heal_for(core, id, fault);
  }
  for (const sim::NodeId node : core) set_clock_right(*machines_.at(node.value));
}

void FaultEngine::heal_for(const Core& core, FaultId id, const Fault& fault) {
  HOOKE_CHECK(lasting_.contains(id), "a fault that is healed lasts");
  if (acts_on_paths(fault.kind)) return heal_paths(core, id, fault);
  if (fault.kind == FaultKind::dns_unresolvable) return heal_name(core, id, fault);
  // A name that hides another machine leads astray a process that asks for it. One that no machine
  // has of its own is how the machine is meant to be found.
  const bool hides =
      fault.kind == FaultKind::dns_alias && network_.find_machine(fault.text) != nullptr;
  const bool names = fault.kind == FaultKind::dns_alias && !hides;
  if (hides || (!names && is_in(core, *fault.node))) return heal(id);
  make_permanent(id, fault);
}

/// Of the pairs of ends of a path those stay hindered that do not both lie in the core: all from
/// outside of it, and those from within to the outside.
void FaultEngine::heal_paths(const Core& core, FaultId id, const Fault& fault) {
  const auto all_if_empty = [&](std::vector<sim::NodeId> nodes) {
    if (!nodes.empty()) return nodes;
    for (const auto& machine : machines_) nodes.push_back(machine->id);
    return nodes;
  };
  const auto part = [&](std::vector<sim::NodeId> nodes, bool inside) {
    std::erase_if(nodes, [&](sim::NodeId node) { return is_in(core, node) != inside; });
    return nodes;
  };
  HOOKE_CHECK(acts_on_paths(fault.kind), "a fault of paths is healed path by path");
  const std::vector<sim::NodeId> from = all_if_empty(fault.paths.from);
  const std::vector<sim::NodeId> to = fault.paths.loopback ? from : all_if_empty(fault.paths.to);
  const bool hinders_core =
      fault.paths.loopback ? !part(from, true).empty()
                           : std::any_of(core.begin(), core.end(), [&](sim::NodeId one) {
                               return std::any_of(core.begin(), core.end(), [&](sim::NodeId other) {
                                 return one != other && Links::covers(fault.paths, one, other);
                               });
                             });
  if (!hinders_core) return make_permanent(id, fault);
  const auto go_on = [&](std::vector<sim::NodeId> rest_from, std::vector<sim::NodeId> rest_to) {
    if (rest_from.empty() || rest_to.empty()) return;
    Fault rest = fault;
    rest.duration = sim::Duration::zero();
    rest.paths.from = std::move(rest_from);
    rest.paths.to = std::move(rest_to);
    log_.continues(inject(rest), id);
  };
  go_on(part(from, false), to);
  if (!fault.paths.loopback) go_on(part(from, true), part(to, false));
  heal(id);
}

void FaultEngine::heal_name(const Core& core, FaultId id, const Fault& fault) {
  HOOKE_CHECK(fault.kind == FaultKind::dns_unresolvable, "a name that leads nowhere is healed");
  if (fault.node) {
    if (is_in(core, *fault.node)) return heal(id);
    return make_permanent(id, fault);
  }
  for (const auto& machine : machines_) {
    if (is_in(core, machine->id)) continue;
    Fault rest = fault;
    rest.duration = sim::Duration::zero();
    rest.node = machine->id;
    log_.continues(inject(rest), id);
  }
  heal(id);
}

/// A fault that is to end is replaced by one that is not; the new one acts before the old one ends,
/// so that nothing slips through between them.
void FaultEngine::make_permanent(FaultId id, const Fault& fault) {
  if (fault.duration == sim::Duration::zero()) return;
  HOOKE_CHECK(fault.duration > sim::Duration::zero(), "a fault that is to end has a time");
  Fault rest = fault;
  rest.duration = sim::Duration::zero();
  continue_with(id, rest);
}

void FaultEngine::continue_with(FaultId id, const Fault& rest) {
  if (rest.pid) return continue_at_process(id, rest);
  log_.continues(inject(rest), id);
  heal(id);
}

/// To go on after it was stopped twice a process needs one signal only: here the new fault takes
/// over what the old one has done.
void FaultEngine::continue_at_process(FaultId id, const Fault& rest) {
  HOOKE_CHECK(rest.node && rest.pid && lasting_.contains(id),
              "a fault that goes on at a process names it");
  const FaultId next = log_.add(rest.kind);
  HOOKE_CHECK(next.value > id.value, "what is left of a fault comes after it");
  log_.continues(next, id);
  world_.emit(events::fault_injected,
              {next.value, to_string(rest.kind), describe_target(rest), rest.duration});
  lasting_.erase(id);
  lasting_[next] = rest;
  if (const auto victim = victims_.extract(id)) victims_[next] = victim.mapped();
  for (auto& [fault, pid] : machines_.at(rest.node->value)->reused_pids) {
    if (fault == id) fault = next;
  }
  log_.end(id, {});
}

void FaultEngine::set_clock_right(Machine& machine) {
  Fault fault;
  fault.node = machine.id;
  if (machine.clock.drift_ppb() != 0) {
    fault.kind = FaultKind::clock_drift;
    inject(fault);
  }
  if (machine.clock.wall(kernel_.now()) != world_.true_wall_time()) {
    fault.kind = FaultKind::clock_skew;
    inject(fault);
  }
}

}  // namespace hooke::world
