// A process ends in one place, end(): its fibers are killed, its sockets closed, its children
// orphaned, its parent told. Everything else only decides when.
#include "sim/world/process_table.h"

#include <algorithm>
#include <array>

#include "sim/port/check.h"

namespace hooke::world {
namespace {

constexpr int kExitCodeMask = 0xff;  // what the operating system keeps of an exit code

bool has(const std::vector<sim::Signal>& signals, sim::Signal signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

/// SIGCHLD, SIGCONT, SIGURG and SIGWINCH of Linux (signal(7)); the others end a process.
bool is_ignored_by_default(sim::Signal signal) {
  constexpr std::array kIgnored{17, 18, 23, 28};
  return std::ranges::find(kIgnored, static_cast<int>(signal)) != kIgnored.end();
}

/// SIGTSTP, SIGTTIN and SIGTTOU, which a terminal sends, likewise.
bool is_stopped_by_default(sim::Signal signal) {
  constexpr std::array kStopping{20, 21, 22};
  return std::ranges::find(kStopping, static_cast<int>(signal)) != kStopping.end();
}

}  // namespace

/// The group of a process that the harness starts has a shell that would let it go on; that of one
/// with a session of its own has none, and Linux does not stop it.
bool ProcessTable::has_shell(const SimProcess& process) {
  const SimProcess* first = &process;
  while (first->parent_ != nullptr && first->parent_->process_group_ == process.process_group_)
    first = first->parent_;
  return first->from_outside_;
}

sim::Pid ProcessTable::next_pid(Machine& machine) {
  if (!machine.reused_pids.empty()) {
    const auto [fault, pid] = machine.reused_pids.front();
    if (!machine.table.contains(pid)) {
      machine.reused_pids.erase(machine.reused_pids.begin());
      HOOKE_CHECK(pid.value > 0, "a number that is used again is one of a process");
      faults_.feel(fault);
      return pid;
    }
  }
  while (machine.table.contains(sim::Pid{machine.next_pid})) ++machine.next_pid;
  HOOKE_CHECK(machine.next_pid > 0, "numbers of processes do not run out");
  return sim::Pid{machine.next_pid++};
}

/// What the harness starts, such as agents, is started all the same.
bool ProcessTable::is_kept_from_starting(Machine& machine) {
  if (machine.spawn_failures.empty()) return false;
  auto& [fault, times] = machine.spawn_failures.front();
  faults_.feel(fault);
  HOOKE_CHECK(times >= 0, "a fault that has been used up is gone");
  if (times > 0 && --times == 0) machine.spawn_failures.erase(machine.spawn_failures.begin());
  return true;
}

sim::Outcome<sim::Pid> ProcessTable::start(Machine& machine, SimProcess* parent,
                                           const sim::SpawnRequest& request) {
  const auto program = request.argv.empty() ? programs_.end() : programs_.find(request.argv[0]);
  if (program == programs_.end()) {
    return sim::Failure{sim::Fault::not_found, request.argv.empty() ? "" : request.argv[0], false};
  }
  if (!machine.up) return sim::Failure{sim::Fault::unreachable, machine.name, false};
  if (parent != nullptr && is_kept_from_starting(machine))
    return sim::Failure{sim::Fault::not_found, request.argv[0], false};
  HOOKE_CHECK(parent == nullptr || (!parent->dead() && &parent->machine_ == &machine),
              "a parent lives, on the same machine");
  processes_.push_back(
      std::make_unique<SimProcess>(*this, machine, next_pid(machine), parent, request));
  SimProcess& process = *processes_.back();
  for (const std::string* path : {&request.stdout_path, &request.stderr_path}) {
    if (path->empty()) continue;
    auto opened = process.files_.write_at_once(*path, "");
    if (opened) continue;
    process.ended_ = sim::ExitStatus{};  // never lived
    return opened.failure();
  }
  HOOKE_CHECK(!machine.table.contains(process.pid_), "a number is given to one process at a time");
  machine.table[process.pid_] = &process;
  if (parent != nullptr) parent->children_.push_back(&process);
  process.born_ = process.emit_fixed(
      events::process_started,
      {parent == nullptr ? 0 : parent->pid_.value, request.argv[0], process.process_group_.value});
  const Program& code = program->second;
  process.main_ = kernel_.spawn(process.group_, request.argv[0], [this, &process, &code] {
    HOOKE_CHECK(!process.dead(), "a process lives when its program begins");
    const int exit_code = code(process.ports());
    end(process, {exit_code & kExitCodeMask, std::nullopt});
  });
  return process.pid_;
}

SimProcess* ProcessTable::find(Machine& machine, sim::Pid pid) {
  HOOKE_CHECK(pid.value != 0, "a process is looked for by its number");
  const auto found = machine.table.find(pid);
  return found == machine.table.end() ? nullptr : found->second;
}

// ---- signals ------------------------------------------------------------------------------------

sim::Outcome<sim::Done> ProcessTable::signal(SimProcess& target, sim::Signal signal,
                                             SimProcess* from) {
  if (signal == sim::Signal::none) return sim::Done{};
  HOOKE_CHECK(0 < static_cast<int>(signal) && static_cast<int>(signal) <= 64,
              "a signal is one of Linux'");
  target.emit_fixed(events::process_signalled,
                    {from == nullptr ? 0 : from->pid_.value, target.pid_.value,
                     static_cast<int>(signal), target.born_.value});
  if (target.dead()) return sim::Done{};  // a zombie takes signals and does nothing
  act_on(target, signal);
  return sim::Done{};
}

void ProcessTable::act_on(SimProcess& process, sim::Signal signal) {
  HOOKE_CHECK(!process.dead() && signal != sim::Signal::none, "a signal acts on a living process");
  if (signal == sim::Signal::stop) return pause(process);
  if (signal == sim::Signal::cont) resume(process);
  const bool masked = process.deaf_ && signal != sim::Signal::kill && signal != sim::Signal::cont;
  const bool waits =
      process.unkillable_ || masked || (process.stopped_ && signal != sim::Signal::kill);
  if (waits) {  // of several equal ones only the first is kept, as for any ordinary signal
    if (!has(process.undelivered_, signal)) process.undelivered_.push_back(signal);
  } else if (has(process.caught_, signal)) {
    if (!has(process.pending_, signal)) process.pending_.push_back(signal);  // likewise
    process.touch();
    if (process.signal_waiter_) kernel_.wake(*std::exchange(process.signal_waiter_, std::nullopt));
  } else if (is_stopped_by_default(signal)) {
    if (has_shell(process)) pause(process);
  } else if (!is_ignored_by_default(signal)) {
    end(process, {0, signal});
  }
}

/// The fibers run unless something holds them: a stop, a hang, or an uninterruptible sleep.
void ProcessTable::hold_or_let_go(SimProcess& process) {
  HOOKE_CHECK(!process.dead(), "only a living process is held or let go");
  const bool holds = process.stopped_ || process.hung_ || process.unkillable_;
  if (holds == process.group_.paused()) return;
  if (holds) {
    process.group_.pause();
  } else {
    process.group_.resume();
    network_.process_resumed(process);
  }
}

void ProcessTable::deliver_what_waited(SimProcess& process) {
  for (const sim::Signal signal : std::exchange(process.undelivered_, {})) {
    if (!process.dead()) act_on(process, signal);
  }
}

void ProcessTable::pause(SimProcess& process) {
  if (process.dead() || process.stopped_) return;
  process.stopped_ = true;
  process.emit_fixed(events::process_paused, {});
  hold_or_let_go(process);
}

void ProcessTable::resume(SimProcess& process) {
  if (process.dead() || !process.stopped_) return;
  process.stopped_ = false;
  process.emit_fixed(events::process_resumed, {});
  hold_or_let_go(process);
  deliver_what_waited(process);
}

void ProcessTable::set_hung(SimProcess& process, bool hung) {
  if (process.dead()) return;
  process.hung_ = hung;
  hold_or_let_go(process);
}

void ProcessTable::set_unkillable(SimProcess& process, bool unkillable) {
  if (process.dead()) return;
  process.unkillable_ = unkillable;
  hold_or_let_go(process);
  if (!unkillable) deliver_what_waited(process);
}

void ProcessTable::set_deaf(SimProcess& process, bool deaf) {
  if (process.dead()) return;
  process.deaf_ = deaf;
  if (!deaf) deliver_what_waited(process);
}

// ---- death --------------------------------------------------------------------------------------

void ProcessTable::end(SimProcess& process, sim::ExitStatus status) {
  if (process.dead()) return;
  process.tell_requests();
  HOOKE_CHECK(process.machine_.up || status.signal == sim::Signal::kill,
              "what ends on a machine that is down was killed");
  process.ended_ = status;
  process.emit_fixed(events::process_ended, {status.as_python()});
  network_.process_died(process);
  process.files_.close();
  process.group_.kill();
  for (SimProcess* child : std::exchange(process.children_, {})) {
    HOOKE_CHECK(child->parent_ == &process, "a child knows its parent");
    child->parent_ = nullptr;
    if (child->dead()) {
      reap(*child);
    } else {
      child->emit_fixed(events::process_orphaned, {process.pid_.value});
      if (child->request_.dies_with_parent) {
        static_cast<void>(signal(*child, sim::Signal::kill, nullptr));
      }
    }
  }
  if (process.parent_ == nullptr) {
    exit_statuses[{process.machine_.id, process.pid_}] = status;
    reap(process);
  } else {
    ++process.parent_->unreaped_;
    process.parent_->touch();
  }
  for (const sim::ParkTicket& waiter : std::exchange(process.waiters_, {})) kernel_.wake(waiter);
}

void ProcessTable::reap(SimProcess& process) {
  if (process.reaped_) return;
  process.reaped_ = true;
  HOOKE_CHECK(process.dead(), "only an ended process is reaped");
  HOOKE_CHECK(process.machine_.table.at(process.pid_) == &process,
              "a process that is reaped still has its number");
  process.machine_.table.erase(process.pid_);
  if (process.parent_ == nullptr) return;
  std::erase(process.parent_->children_, &process);
  HOOKE_CHECK(process.parent_->unreaped_ > 0, "a child that has ended is counted");
  --process.parent_->unreaped_;
}

void ProcessTable::crash(Machine& machine) {
  HOOKE_CHECK(machine.up, "a machine that crashes was up");
  machine.up = false;
  network_.machine_crashed(machine);
  std::vector<SimProcess*> all;
  for (const auto& [pid, process] : machine.table) all.push_back(process);
  for (SimProcess* process : all) {
    process->parent_ = nullptr;
    process->children_.clear();
    if (!process->dead()) end(*process, {0, sim::Signal::kill});
    reap(*process);
  }
}

bool ProcessTable::move_deadlines(Machine& machine,
                                  const std::function<sim::WorldTime(sim::WorldTime)>& moved) {
  HOOKE_CHECK(moved != nullptr, "a deadline moves somewhere");
  std::size_t count = 0;
  for (const auto& [pid, process] : machine.table) {
    process->touch();
    count += process->group_.move_deadlines(moved);
  }
  return count > 0;
}

void ProcessTable::kill_everything() {
  fault_point_observer = nullptr;
  network_.shut_down();
  kernel_.withdraw_ready();
  for (const auto& process : processes_) {
    if (!process->ended_) process->ended_ = sim::ExitStatus{0, sim::Signal::kill};
    process->files_.close();
    process->group_.kill();
  }
}

}  // namespace hooke::world
