#include "model/rendezvous/dynamic/keep_alive.h"

#include <algorithm>
#include <mutex>

#include "model/observe/background_tasks.h"
#include "model/observe/trace_events.h"

namespace hooke::model {
namespace {

sim::Duration pause(const HandlerCore& core) {
  const sim::Duration interval = heartbeat_interval(core.settings);
  if (core.holder.signs() == nullptr) return interval;
  const sim::Duration due_in = interval - core.holder.signs()->silence(*core.node);
  return std::clamp(due_in, interval / 10, interval);  // one that failed is soon tried again
}

}  // namespace

std::unique_ptr<KeepAlive> KeepAlive::start(const std::shared_ptr<HandlerCore>& core) {
  auto timer = std::make_unique<KeepAlive>(core);
  timer->fiber_ = core->ports.executor.spawn(std::string(tasks::kKeepAlive),
                                             [core, stop = timer->stop_] { run(*core, *stop); });
  return timer;
}

void KeepAlive::run(HandlerCore& core, sim::Flag& stop) {
  while (!stop.wait(core.ports.clock.monotonic_now() + pause(core))) {
    const std::lock_guard lock(core.heartbeat_lock);
    // Whoever has dismissed it with the lock held goes on, and may join, which takes no lock.
    if (core.hardened() && stop.is_set()) return;
    if (!tick(core)) return;
  }
}

bool KeepAlive::tick(HandlerCore& core) {
  const std::uint64_t before = core.tracer.cost.attempts;
  try {
    core.run(&decide_keep_alive,
             core.ports.clock.monotonic_now() + core.settings.timeout.heartbeat);
    if (core.tracer.cost.attempts != before)
      core.ports.trace.emit(events::keep_alive_tick, {"ok", ""});
    return true;
  } catch (const RendezvousError& error) {
    core.ports.trace.emit(events::keep_alive_tick,
                          {"failed", std::string(error.class_name()) + ": " + error.what()});
    return true;
  } catch (const std::exception& error) {
    if (core.settings.variant == Variant::hardened) {
      core.ports.trace.emit(events::keep_alive_tick, {"failed", error.what()});
      return true;
    }
    core.ports.trace.emit(events::keep_alive_died, {error.what()});
    return false;
  }
}

}  // namespace hooke::model
