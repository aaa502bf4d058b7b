// The ports of a process. Each first asks whether the process still lives.
#include "sim/world/sim_process.h"

#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/process_table.h"
#include "sim/world/resting.h"

namespace hooke::world {
namespace {

/// For how long requests are counted together. Long, because each count is an event; short beside
/// the time-outs of the clients.
constexpr sim::Duration kRequestWindow = std::chrono::seconds(10);

/// Linux has signals up to 64 (signal(7)); kill(2) refuses other numbers with EINVAL.
bool is_of_linux(sim::Signal signal) {
  constexpr int kLargest = 64;
  return 0 <= static_cast<int>(signal) && static_cast<int>(signal) <= kLargest;
}

sim::Failure no_signal(sim::Signal signal) {
  return {sim::Fault::denied, "signal " + std::to_string(static_cast<int>(signal)), false};
}

}  // namespace

SimProcess::SimProcess(ProcessTable& table, Machine& machine, sim::Pid pid, SimProcess* parent,
                       sim::SpawnRequest request)
    : table_(table),
      machine_(machine),
      pid_(pid),
      process_group_(parent == nullptr || request.new_session ? pid : parent->process_group_),
      parent_(parent),
      request_(std::move(request)),
      number_on_machine_(machine.processes_started++),
      group_(table.kernel(),
             [this](std::string_view fiber, sim::Duration span) {
               emit(events::fiber_held_up, {fiber, span});
             }),
      files_(machine.disk, *this),
      ports_{*this, *this, *this, *this, files_, *this, *this, *this},
      from_outside_(parent == nullptr) {}

void SimProcess::ask_again() {
  resting_->ask_again();
}

// ---- clock, executor ----------------------------------------------------------------------------

sim::MonotonicTime SimProcess::monotonic_now() const {
  if (!machine_.unfelt_clock_faults.empty()) feel_clock_faults(machine_.unfelt_clock_faults);
  return machine_.clock.monotonic(table_.kernel().now()) + ahead_;
}

sim::WallTime SimProcess::wall_now() const {
  if (!machine_.unfelt_clock_faults.empty()) feel_clock_faults(machine_.unfelt_clock_faults);
  if (!machine_.unfelt_wall_faults.empty()) feel_clock_faults(machine_.unfelt_wall_faults);
  return machine_.clock.wall(table_.kernel().now());
}

void SimProcess::feel_clock_faults(std::vector<FaultId>& unfelt) const {
  if (dead()) return;
  HOOKE_CHECK(machine_.up, "a living process runs on a machine that is up");
  for (const FaultId fault : std::exchange(unfelt, {})) table_.faults().feel(fault);
}

sim::FiberId SimProcess::spawn(std::string name, std::function<void()> body) {
  return table_.kernel().spawn(group_, std::move(name), [this, task = std::move(body)] {
    const struct End {
      ~End() { process.touch(); }
      SimProcess& process;
    } end{*this};
    task();
  });
}

void SimProcess::join(sim::FiberId fiber) {
  touch();
  table_.kernel().join(fiber);
}

sim::ParkTicket SimProcess::ticket() {
  return table_.kernel().ticket();
}

sim::Wake SimProcess::park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline) {
  return park(ticket, deadline, nullptr);
}

sim::Wake SimProcess::park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline,
                           Resting* resting) {
  kernel::Kernel& kernel = table_.kernel();
  touch();
  if (!deadline || *deadline == sim::MonotonicTime::max()) return kernel.park(ticket, std::nullopt);
  const sim::WorldTime until = due(*deadline);
  if (resting != nullptr) resting->lies_down(until);
  return kernel.park(ticket, until, resting);
}

sim::WorldTime SimProcess::due(sim::MonotonicTime deadline) const {
  const sim::WorldTime now = table_.kernel().now();
  const sim::WorldTime due = machine_.clock.world_time_of(deadline, now);
  HOOKE_CHECK(due >= now, "a deadline does not lie in the past");
  return due > now ? due + table_.timer_slack() : due;
}

bool SimProcess::wake(sim::ParkTicket ticket) {
  return table_.kernel().wake(ticket);
}

// ---- network ------------------------------------------------------------------------------------

sim::Outcome<std::unique_ptr<sim::Listener>> SimProcess::listen(sim::PortNumber port,
                                                                sim::AcceptHandler& handler) {
  if (dead()) return sim::Failure{sim::Fault::closed, "listen", false};
  return table_.network().listen(*this, {port.value, {}}, handler);
}

sim::Outcome<std::unique_ptr<sim::Listener>> SimProcess::listen_loopback(
    sim::PortNumber port, sim::AcceptHandler& handler) {
  if (dead()) return sim::Failure{sim::Fault::closed, "listen", false};
  return table_.network().listen(*this, {port.value, {}, true}, handler);
}

sim::Outcome<std::unique_ptr<sim::Stream>> SimProcess::connect(
    const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) {
  if (dead()) return sim::Failure{sim::Fault::closed, "connect", false};
  count_request(0, 1);
  const auto target = table_.network().resolve(machine_, to.host);
  if (!target) return target.failure();
  const Door door{to.port.value, {}, SimNetwork::is_loopback(to.host)};
  return table_.network().connect(*this, *target.value(), door,
                                  to.host + ":" + std::to_string(to.port.value), deadline);
}

sim::Outcome<std::unique_ptr<sim::Listener>> SimProcess::listen_local(const std::string& path,
                                                                      sim::AcceptHandler& handler) {
  if (dead()) return sim::Failure{sim::Fault::closed, "listen", false};
  const auto old = files_.socket(path);
  if (old && !machine_.listeners.contains(old.value())) static_cast<void>(files_.remove(path));
  HOOKE_CHECK(machine_.next_socket_file >= kFirstSocketFile,
              "socket files are numbered above all ports");
  const Door door{machine_.next_socket_file++, path};
  if (const auto made = files_.make_socket(path, door.number); !made) return made.failure();
  return table_.network().listen(*this, door, handler);
}

sim::Outcome<std::unique_ptr<sim::Stream>> SimProcess::connect_local(
    const std::string& path, std::optional<sim::MonotonicTime> deadline) {
  if (dead()) return sim::Failure{sim::Fault::closed, "connect", false};
  count_request(0, 1);
  const auto number = files_.socket(path);
  if (!number) return number.failure();
  return table_.network().connect(*this, machine_, {number.value(), path}, path, deadline);
}

sim::Outcome<std::unique_ptr<sim::Stream>> SimProcess::connect_secure(
    const sim::Endpoint& to, const sim::TlsOptions&, std::optional<sim::MonotonicTime> deadline) {
  return connect(to, deadline);
}

sim::Outcome<std::vector<std::string>> SimProcess::resolve(const std::string& host) {
  if (dead()) return sim::Failure{sim::Fault::closed, "resolve", false};
  auto found = table_.network().resolve(machine_, host);
  if (!found) return found.failure();
  if (SimNetwork::is_loopback(host)) return std::vector<std::string>{"127.0.0.1"};
  return std::vector<std::string>{SimNetwork::address_of(found.value()->id)};
}

sim::Outcome<std::string> SimProcess::canonical_name(const std::string& host) {
  if (dead()) return sim::Failure{sim::Fault::closed, "canonical_name", false};
  auto found = table_.network().resolve(machine_, host);
  if (!found) return found.failure();
  return found.value()->name;
}

void SimProcess::count_request(std::uint32_t messages, std::uint32_t connects) {
  if (!from_outside_) return;
  const sim::WorldTime now = table_.kernel().now();
  if (now >= requests_.since + kRequestWindow) tell_requests();
  HOOKE_CHECK(now >= requests_.since, "requests are counted forwards");
  if (requests_.messages == 0 && requests_.connects == 0) requests_.since = now;
  requests_.messages += messages;
  requests_.connects += connects;
}

void SimProcess::tell_requests() {
  const Requests told = std::exchange(requests_, {});
  if (told.messages == 0 && told.connects == 0) return;
  HOOKE_CHECK(from_outside_, "only processes that the harness started tell what they ask");
  emit_fixed(events::process_asked, {told.since.time_since_epoch(), told.connects, told.messages});
}

// ---- processes and signals ----------------------------------------------------------------------

sim::Outcome<sim::Pid> SimProcess::spawn(const sim::SpawnRequest& request) {
  if (dead()) return sim::Failure{sim::Fault::closed, "spawn", false};
  const bool opens_files = !request.stdout_path.empty() || !request.stderr_path.empty();
  // A callback cannot wait; none of them starts what opens files.
  if (opens_files && table_.kernel().in_fiber()) files_.await_disk(request.stdout_path);
  return table_.start(machine_, this, request);
}

sim::Outcome<sim::Done> SimProcess::signal(sim::Pid pid, sim::Signal signal) {
  SimProcess* const target = dead() ? nullptr : table_.find(machine_, pid);
  if (target == nullptr) {
    return sim::Failure{sim::Fault::not_found, "pid " + std::to_string(pid.value), false};
  }
  if (!is_of_linux(signal)) return no_signal(signal);
  auto sent = table_.signal(*target, signal, this);
  stay_if_hit();
  return sent;
}

sim::Outcome<sim::Done> SimProcess::signal_group(sim::Pid leader, sim::Signal signal) {
  std::vector<SimProcess*> members;
  if (!dead()) {
    for (const auto& [pid, process] : machine_.table) {
      if (process->process_group_ == leader) members.push_back(process);
    }
  }
  if (members.empty()) {
    return sim::Failure{sim::Fault::not_found, "group " + std::to_string(leader.value), false};
  }
  if (!is_of_linux(signal)) return no_signal(signal);
  for (SimProcess* member : members) static_cast<void>(table_.signal(*member, signal, this));
  stay_if_hit();
  return sim::Done{};
}

void SimProcess::stay_if_hit() {
  if (table_.kernel().in_fiber() && (dead() || held())) {
    static_cast<void>(park(ticket(), sim::MonotonicTime()));  // throws Killed, or waits to go on
  }
}

std::optional<char> SimProcess::state(sim::Pid pid) {
  const SimProcess* const process = dead() ? nullptr : table_.find(machine_, pid);
  if (process == nullptr) return std::nullopt;
  if (process->dead()) return 'Z';
  if (process->unkillable_) return 'D';
  return process->stopped_ ? 'T' : 'S';
}

std::optional<sim::ExitStatus> SimProcess::poll(sim::Pid child) {
  // What an agent asks most often, and nearly always in vain.
  if (unreaped_ == 0 && !dead()) return std::nullopt;
  SimProcess* const process = table_.find(machine_, child);
  if (process == nullptr || process->parent_ != this || !process->ended_) return std::nullopt;
  HOOKE_CHECK(process != this && &process->machine_ == &machine_,
              "a child is another process of the machine");
  const sim::ExitStatus status = *process->ended_;
  table_.reap(*process);
  return status;
}

std::optional<sim::ExitStatus> SimProcess::wait(sim::Pid child,
                                                std::optional<sim::MonotonicTime> deadline) {
  for (;;) {
    if (auto status = poll(child)) return status;
    SimProcess* const process = table_.find(machine_, child);
    if (process == nullptr || process->parent_ != this) return std::nullopt;
    const sim::ParkTicket mine = ticket();
    HOOKE_CHECK(!process->dead(), "only a living child is waited for");
    process->waiters_.push_back(mine);
    if (park(mine, deadline) == sim::Wake::woken) continue;
    std::erase_if(process->waiters_, [&](const sim::ParkTicket& waiter) {
      return waiter.fiber == mine.fiber && waiter.generation == mine.generation;
    });
    return poll(child);
  }
}

sim::Outcome<sim::Done> SimProcess::catch_signal(sim::Signal signal) {
  if (signal == sim::Signal::kill || signal == sim::Signal::stop) {
    return sim::Failure{sim::Fault::denied, std::string(to_string(signal)), false};
  }
  if (std::find(caught_.begin(), caught_.end(), signal) == caught_.end()) caught_.push_back(signal);
  return sim::Done{};
}

std::optional<sim::Signal> SimProcess::take_signal() {
  if (dead() || pending_.empty()) return std::nullopt;
  const sim::Signal oldest = pending_.front();
  HOOKE_CHECK(std::find(caught_.begin(), caught_.end(), oldest) != caught_.end(),
              "a signal that is taken was caught");
  pending_.erase(pending_.begin());
  return oldest;
}

bool SimProcess::wait_signal(std::optional<sim::MonotonicTime> deadline) {
  return await_signal(deadline, nullptr);
}

bool SimProcess::wait_signal(sim::MonotonicTime deadline, sim::Lookout& lookout) {
  if (table_.steps_polls()) return await_signal(deadline, nullptr);
  Resting resting(*this, lookout);
  struct Named {
    Named(SimProcess& in, Resting& by) : process(in) {
      HOOKE_CHECK(process.resting_ == nullptr || process.dead(), "one fiber of a process rests");
      process.resting_ = &by;
    }
    ~Named() { process.resting_ = nullptr; }
    SimProcess& process;
  } const named(*this, resting);
  return await_signal(deadline, &resting);
}

bool SimProcess::await_signal(std::optional<sim::MonotonicTime> deadline, Resting* resting) {
  while (pending_.empty()) {
    const sim::ParkTicket mine = ticket();
    HOOKE_CHECK(!signal_waiter_ || dead(), "one fiber waits for signals");
    signal_waiter_ = mine;
    const sim::Wake wake = park(mine, deadline, resting);
    // A signal takes the ticket with it; otherwise the wake was another fiber's.
    const bool ours = std::exchange(signal_waiter_, std::nullopt).has_value();
    if (wake == sim::Wake::timed_out || ours) return !pending_.empty();
  }
  return true;
}

// ---- random, trace, fault points ----------------------------------------------------------------

std::uint64_t SimProcess::below(std::string_view purpose, std::uint64_t bound) {
  HOOKE_CHECK(bound >= 1 && !purpose.empty(), "a draw has a purpose and an alternative");
  if (dead()) return 0;
  for (Draws& draws : draws_) {
    if (draws.purpose == purpose) return draws.stream.below(bound);
  }
  draws_.push_back({purpose, kernel::Stream(table_.kernel().choices(), purpose, machine_.key,
                                            number_on_machine_)});
  return draws_.back().stream.below(bound);
}

sim::EventId SimProcess::emit(const sim::EventType& type,
                              std::initializer_list<sim::FieldValue> fields) {
  return dead() ? sim::kNoEvent : emit_fixed(type, fields);
}

sim::EventId SimProcess::emit_fixed(const sim::EventType& type,
                                    std::initializer_list<sim::FieldValue> fields) {
  HOOKE_CHECK(pid_.value > 0, "a process has a number");
  HOOKE_CHECK(fields.size() == type.field_count, "an event has the fields of its type");
  kernel::Kernel& kernel = table_.kernel();
  return kernel.trace().emit(kernel.cause(), kernel.now(), machine_.clock.wall(kernel.now()),
                             machine_.id, pid_, type, {fields.begin(), fields.size()});
}

void SimProcess::reach(std::string_view name) {
  if (dead()) return;
  HOOKE_CHECK(!name.empty(), "a fault point has a name");
  if (table_.fault_point_observer) {
    const std::uint64_t passage = ++table_.passages[{machine_.id, std::string(name)}];
    emit(events::fault_point_passed, {name, passage});
    table_.fault_point_observer(*this, name, passage);
    stay_if_hit();
  }
  raise_what_is_due();
}

void SimProcess::raise_what_is_due() {
  if (errors_.empty() || raiser_ == nullptr) return;
  if (!table_.kernel().in_fiber() || table_.kernel().ticket().fiber != main_) return;
  const auto [fault, error] = std::move(errors_.front());
  errors_.erase(errors_.begin());
  HOOKE_CHECK(!dead(), "no error is put into a process that has ended");
  table_.faults().feel(fault);
  raiser_(error);
}

}  // namespace hooke::world
