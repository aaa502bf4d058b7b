#include "model/rendezvous/dynamic/keep_alive.h"

#include <mutex>

#include "model/observe/background_tasks.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "model/signals/thread_start.h"
#include "sim/port/check.h"

namespace hooke::model {

void KeepAlive::start() {
  HOOKE_CHECK(!task_->over && !task_->stop.is_set(), "start() comes once, and before dismiss()");
  start_thread(core_->ports, std::string(tasks::kKeepAlive), [core = core_, task = task_] {
    const End end{*task, core->ports.executor};
    run(*core, task->stop);
  });
}

void KeepAlive::cancel() {
  task_->stop.set();
  sim::Ports& ports = core_->ports;
  while (!task_->over) {
    HOOKE_CHECK(!task_->awaits_end, "no other fiber waits for the end of the keep-alive task");
    task_->awaits_end = ports.executor.ticket();
    const bool signalled = ports.processes.wait_signal(std::nullopt);
    task_->awaits_end.reset();
    if (signalled) check_signals(ports);
  }
}

void KeepAlive::run(HandlerCore& core, sim::Flag& stop) {
  HOOKE_CHECK(core.until_next_tick() > sim::Duration::zero(),
              "the time until the next tick of the keep-alive is positive");
  while (!stop.wait(core.ports.clock.monotonic_now() + core.until_next_tick())) {
    const std::lock_guard lock(core.heartbeat_lock);
    if (stop.is_set() && !core.ticks_when_dismissed()) return;
    if (!tick(core)) return;
  }
}

bool KeepAlive::tick(HandlerCore& core) {
  const std::uint64_t before = core.tracer.cost.attempts;
  try {
    core.run(&Decisions::keep_alive,
             core.ports.clock.monotonic_now() + core.settings.timeout.heartbeat);
    if (core.tracer.cost.attempts != before)
      core.ports.trace.emit(events::keep_alive_tick, {"ok", ""});
    return true;
  } catch (const RendezvousError& error) {
    core.ports.trace.emit(events::keep_alive_tick,
                          {"failed", std::string(error.class_name()) + ": " + error.what()});
    return true;
  } catch (const std::exception& error) {
    if (core.heartbeats_die()) {
      core.ports.trace.emit(events::keep_alive_died, {error.what()});
      return false;
    }
    core.ports.trace.emit(events::keep_alive_tick, {"failed", error.what()});
    return true;
  }
}

}  // namespace hooke::model
