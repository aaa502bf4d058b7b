#include "model/hardened/worker/hardened_process_context.h"

#include "model/hardened/worker/hardened_failures.h"
#include "sim/port/check.h"

namespace hooke::model {

/// Each is known as soon as it runs, and so is ended when a later one cannot be started.
void HardenedProcessContext::spawn_all() {
  for (const WorkerStart& worker : workers_) {
    const sim::Pid pid = spawn(worker);
    HOOKE_CHECK(pid.value > 0, "the process number of a started worker is positive");
    HOOKE_CHECK(processes_.size() < workers_.size(),
                "there are at most local_world_size started workers");
    processes_.emplace_back().pid = pid;
  }
}

/// What a worker leaves behind keeps ports and devices: its group ends with it, now that its number
/// still is that of its group. A process that is to outlive it has a session of its own.
void HardenedProcessContext::on_ended(const Process& process) {
  HOOKE_CHECK(process.ended.has_value(), "a worker has ended before its process group is ended");
  static_cast<void>(launcher_.signal(process.pid, sim::Signal::kill, true));
}

ProcessFailure HardenedProcessContext::describe(ProcessFailure failure,
                                                const std::string& error_file) const {
  return describe_failure_whatever_was_written(ports_, failure, error_file, variant_);
}

/// First the workers end, then this wait: a signal does not cut it short.
void HardenedProcessContext::pause(sim::Duration span) {
  ports_.executor.sleep_until(ports_.clock.monotonic_now() + span);
}

bool HardenedProcessContext::waits_on(Process& process, bool asleep) {
  HOOKE_CHECK(!process.abandoned, "a worker is not given up twice");
  process.abandoned = asleep;
  return !asleep;
}

}  // namespace hooke::model
