// What a worker does with timers: deadlines that it chooses, and work that it measures against the
// limit of its agent.
#include "model/observe/python_error.h"
#include "model/observe/timer_events.h"
#include "model/timer/group_timer.h"
#include "scenarios/simulated/worker_program.h"
#include "sim/port/check.h"

namespace hooke::scenario {

std::shared_ptr<model::TimerClient> WorkerRun::timer_client(sim::Signal signal) {
  if (conditions_.timers == nullptr)
    conditions_.timers = model::TimerRegistry::with_builtins().create({"file", {}});
  std::shared_ptr<model::TimerClient>& client = timer_clients_[signal];
  if (client == nullptr) client = conditions_.timers->client(ports_, conditions_.variant, signal);
  HOOKE_CHECK(client != nullptr, "a kind of timers has a client");
  return client;
}

bool WorkerRun::use_timer(const WorkerStep& step) {
  try {
    if (step.kind == WorkerStep::Kind::acquire || step.kind == WorkerStep::Kind::release) {
      const auto signal = static_cast<sim::Signal>(static_cast<int>(step.code));
      model::TimerClient& client = *timer_client(signal);
      const std::string name = kTimer + step.text;
      if (step.kind == WorkerStep::Kind::release) {
        client.release(step.text);
        holdings_.forget(name);
      } else {
        client.acquire(step.text, ports_.clock.wall_now() + step.span);
        if (!holdings_.holds(name)) {
          holdings_.hold(
              name, [this, signal, scope = step.text] { timer_client(signal)->release(scope); });
        }
      }
    } else {
      auto fifo = ports_.files.open_fifo_writer(variable("TORCHELASTIC_TIMER_FILE"));
      if (!fifo) return false;
      if (step.kind == WorkerStep::Kind::scribble) return (*fifo)->write(step.text + "\n").ok();
      rest(step.span);
    }
    return true;
  } catch (const model::EscapedPythonError&) {
    return false;
  }
}

/// An agent that tells no limit is one that measures nothing: the worker's program is wrong then.
bool WorkerRun::measure(const WorkerStep& step) {
  try {
    const auto limit = model::group_limit(ports_.processes.environment());
    if (!limit) return false;
    const std::string name = kTimer + step.text;
    std::unique_ptr<model::GroupTimer>& timer = group_timers_[step.text];
    if (timer == nullptr) {
      timer = std::make_unique<model::GroupTimer>(ports_.clock, timer_client(sim::Signal::kill),
                                                  step.text, *limit);
    }
    if (step.kind == WorkerStep::Kind::start_timer) {
      timer->start();
      if (!holdings_.holds(name)) holdings_.hold(name, [&timer] { timer->stop(); });
      return true;
    }
    const Duration took = timer->stop();
    holdings_.forget(name);
    ports_.trace.emit(model::events::work_measured, {step.text, took, *limit});
    return took == timer->elapsed();
  } catch (const model::EscapedPythonError&) {
    return false;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace hooke::scenario
