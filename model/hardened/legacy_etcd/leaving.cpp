// Each write is compared with what was read: where another node was faster, one looks again.
#include "model/hardened/legacy_etcd/leaving.h"

#include "model/etcd/v2_client.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Status = LegacyState::Status;

/// False: another node was faster.
bool try_to_leave_queue(HardenedLegacyEtcdRun& run, const LegacyStanding& standing) {
  const LegacyEtcdRun::Active seen = run.read();
  const std::int64_t version = seen.state->version.value_or(0);
  const bool forms = seen.state->status == Status::joinable || seen.state->status == Status::frozen;
  if (forms && version == standing.joining) return run.try_remove(seen);
  const std::int64_t waiting = seen.state->num_workers_waiting.value_or(0);
  if (seen.state->status != Status::final_ || version != standing.waiting || waiting == 0)
    return true;
  LegacyState next = *seen.state;
  next.num_workers_waiting = waiting - 1;
  return run.replace(seen, next);
}

}  // namespace

void leave_legacy_run(sim::Ports& ports, HardenedLegacyEtcdRun& run, const std::string& run_id,
                      const LegacyStanding& standing) {
  HOOKE_CHECK(standing.member == 0 || !standing.keep_alive.empty(),
              "a node that is a member has a keep-alive key");
  HOOKE_CHECK(standing.member == 0 || standing.joining == 0,
              "a node is not a member of one version while it joins another");
  if (standing.member != 0) run.drop_keep_alive(standing.keep_alive);
  if (standing.joining != 0 || standing.waiting != 0) {
    while (!try_to_leave_queue(run, standing)) {
    }
  }
  const std::int64_t version = standing.joining != 0 ? standing.joining : standing.member;
  if (version != 0) ports.trace.emit(events::rendezvous_left, {run_id, version, 0});
}

}  // namespace hooke::model
