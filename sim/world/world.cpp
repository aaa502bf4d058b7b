// The facade: machines, programs, and the translation of faults into changes of machines, links,
// services and processes.
#include "sim/world/world.h"

#include <algorithm>
#include <stdexcept>

#include "sim/port/check.h"
#include "sim/world/fault_engine.h"
#include "sim/world/process_table.h"

namespace hooke::world {

struct World::Impl {
  Impl(World& world, kernel::Kernel& in, WorldOptions given)
      : kernel(in),
        options(std::move(given)),
        log(world),
        network(in, options.network, log, machines),
        processes(in, network, log, options),
        faults(in, world, log, machines, network, processes) {}

  kernel::Kernel& kernel;
  WorldOptions options;
  std::vector<std::unique_ptr<Machine>> machines;
  FaultLog log;
  SimNetwork network;
  ProcessTable processes;
  FaultEngine faults;

  Machine& machine(sim::NodeId node) {
    HOOKE_CHECK(node.value < machines.size(), "a machine that is asked for has been added");
    return *machines[node.value];
  }
};

World::World(kernel::Kernel& kernel, WorldOptions options)
    : impl_(std::make_unique<Impl>(*this, kernel, std::move(options))) {}

World::~World() {
  impl_->processes.kill_everything();
  impl_->kernel.drain();
}

sim::NodeId World::add_node(NodeOptions options) {
  if (find_node(options.name)) throw std::invalid_argument("two nodes named " + options.name);
  if (!NodeClock::can_drift(options.clock_drift_ppb)) {
    throw std::invalid_argument("the clock of " + options.name + " would not move");
  }
  HOOKE_CHECK(!options.name.empty(), "a machine has a name");
  const sim::NodeId id{static_cast<std::uint32_t>(impl_->machines.size())};
  const sim::WallTime wall = impl_->options.wall_epoch + options.clock_skew;
  impl_->machines.push_back(std::make_unique<Machine>(id, std::move(options), wall));
  HOOKE_CHECK(impl_->machines.back()->id == id, "machines are numbered as they come");
  impl_->network.add_machine(*impl_->machines.back());
  return id;
}

std::size_t World::node_count() const {
  return impl_->machines.size();
}

const std::string& World::node_name(sim::NodeId node) const {
  return impl_->machine(node).name;
}

std::optional<sim::NodeId> World::find_node(std::string_view name) const {
  const Machine* const machine = impl_->network.find_machine(name);
  return machine == nullptr ? std::nullopt : std::optional(machine->id);
}

bool World::node_up(sim::NodeId node) const {
  return impl_->machine(node).up;
}

void World::register_program(std::string name, Program program) {
  HOOKE_CHECK(!name.empty() && program, "a program has a name and does something");
  impl_->processes.register_program(std::move(name), std::move(program));
}

sim::Outcome<sim::Pid> World::start(sim::NodeId node, sim::SpawnRequest request) {
  return impl_->processes.start(impl_->machine(node), nullptr, request);
}

std::optional<sim::ExitStatus> World::exit_status(sim::NodeId node, sim::Pid pid) const {
  const auto found = impl_->processes.exit_statuses.find({node, pid});
  if (found == impl_->processes.exit_statuses.end()) return std::nullopt;
  return found->second;
}

std::vector<sim::Pid> World::living(sim::NodeId node) const {
  std::vector<sim::Pid> pids;
  for (const auto& [pid, process] : impl_->machine(node).table) {
    HOOKE_CHECK(process != nullptr && process->self() == pid, "a process stands under its number");
    if (!process->dead()) pids.push_back(pid);
  }
  return pids;
}

const std::vector<std::string>& World::arguments(sim::NodeId node, sim::Pid pid) const {
  return impl_->machine(node).table.at(pid)->arguments();
}

const std::map<std::string, std::string>& World::environment(sim::NodeId node, sim::Pid pid) const {
  return impl_->machine(node).table.at(pid)->environment();
}

void World::set_service(sim::NodeId node, sim::PortNumber port, ServiceModel model) {
  HOOKE_CHECK(port.value != 0, "a service has a port");
  impl_->network.set_service(impl_->machine(node), port.value, model);
}

void World::set_default_service(ServiceModel model) {
  impl_->network.set_default_service(model);
}

FaultId World::inject(const Fault& fault) {
  return impl_->faults.inject(fault);
}

void World::heal(FaultId fault) {
  impl_->faults.heal(fault);
}

void World::heal_core(const std::vector<sim::NodeId>& core) {
  HOOKE_CHECK(!core.empty(), "a core has a machine");
  impl_->faults.heal_core(core);
}

std::uint64_t World::felt(FaultId fault) const {
  return impl_->log.felt(fault);
}

void World::on_fault_point(
    std::function<void(sim::NodeId, sim::Pid, std::string_view, std::uint64_t)> observer) {
  impl_->processes.fault_point_observer = [observer = std::move(observer)](SimProcess& process,
                                                                           std::string_view name,
                                                                           std::uint64_t passage) {
    HOOKE_CHECK(passage > 0, "a passage is counted before it is told");
    observer(process.machine().id, process.self(), name, passage);
  };
}

World::Traffic World::traffic(sim::NodeId node) const {
  return impl_->machine(node).traffic;
}

kernel::Kernel& World::kernel() {
  return impl_->kernel;
}

sim::WallTime World::true_wall_time() const {
  return impl_->options.wall_epoch + impl_->kernel.now().time_since_epoch();
}

sim::EventId World::emit(const sim::EventType& type,
                         std::initializer_list<sim::FieldValue> fields) {
  HOOKE_CHECK(fields.size() == type.field_count, "an event has the fields of its type");
  kernel::Kernel& kernel = impl_->kernel;
  return kernel.trace().emit(kernel.cause(), kernel.now(), {}, sim::kNoNode, {}, type,
                             {fields.begin(), fields.size()});
}

}  // namespace hooke::world
