#pragma once
// A look at a job from outside, whatever its rendezvous is: one way to ask for the state of a job
// that works for all backends. Reads, and never writes.

#include <cstddef>
#include <functional>
#include <optional>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/job_record.h"
#include "model/rendezvous/observer.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What a look shows.
struct JobSight {
  JobRecord record;
  std::size_t state_bytes = 0;  ///< of the state in the store; 0 where there is none (static)
};

// Both take the job's backend, endpoint and run id, and of its configuration what says how the store
// is reached; "read_timeout" is for how long an answer is waited for. They connect at once, and look
// as often as they are called. std::invalid_argument for a bad configuration; making and calling:
// StoreError, RendezvousError, EscapedPythonError. `ports` must outlive what they return.

using JobLook = std::function<JobSight()>;
JobLook look_at_job(sim::Ports& ports, const RendezvousParameters& parameters);

/// What the store of a dynamic rendezvous says: nullopt where it knows no such job.
using StateLook = std::function<std::optional<RendezvousView>()>;
/// Any backend but "etcd" and "static", which have no such state.
StateLook look_at_state(sim::Ports& ports, const RendezvousParameters& parameters);
/// Whether the backend has one.
bool has_dynamic_state(const std::string& backend);

}  // namespace hooke::model
