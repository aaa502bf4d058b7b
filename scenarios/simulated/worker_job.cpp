// What a worker that looks at its own job sees, as any program can from outside.
#include <stdexcept>

#include "model/observe/view_events.h"
#include "model/rendezvous/job_look.h"
#include "scenarios/simulated/worker_program.h"

namespace hooke::scenario {
namespace {

/// "0-1 2-3": the ranks of the workers of each agent; "?" of one that tells none.
std::string ranks_of_workers(const model::JobRecord& record) {
  std::string out;
  for (const model::JobNode& node : record.participants) {
    out += out.empty() ? "" : " ";
    const auto& workers = node.workers;
    out += workers ? std::to_string(workers->first_rank) + "-" +
                         std::to_string(workers->first_rank + workers->count - 1)
                   : "?";
  }
  return out;
}

}  // namespace

bool WorkerRun::looks_at_job(const WorkerStep& step) {
  constexpr Duration kNextLook = 500ms;
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + patience();
  model::RendezvousParameters parameters = conditions_.job;
  parameters.run_id = variable("TORCHELASTIC_RUN_ID");
  model::JobLook look;
  for (;;) {
    try {
      if (!look) look = model::look_at_job(ports_, parameters);
      const model::JobRecord record = look().record;
      const std::int64_t size = record.world_size.value_or(0);
      if (to_string(record.status) == step.text && size == step.count) {
        const std::string master = record.master ? record.master->master_addr : std::string();
        ports_.trace.emit(
            model::events::worker_job_seen,
            {std::int64_t{std::stoll(variable("RANK"))}, step.text, record.round.value_or(-1),
             static_cast<std::int64_t>(record.participants.size()), size, ranks_of_workers(record),
             master});
        return true;
      }
    } catch (const std::runtime_error&) {  // of the store: it is asked anew
      look = nullptr;
    }
    if (ports_.clock.monotonic_now() >= give_up) return false;
    rest(kNextLook);
  }
}

}  // namespace hooke::scenario
