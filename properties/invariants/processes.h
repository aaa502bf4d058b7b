#pragma once
// Promises about processes, stores, and what is reported of them.

#include <memory>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// safety.kill_safety: an agent's signal reaches only what it or its descendants started, and is
/// never sent to a worker whose end the agent has learnt of.
std::unique_ptr<Invariant> make_kill_safety();
/// safety.restart_budget: new rounds after failures, those of relaunched agents included, stay
/// within max_restarts for the whole job.
std::unique_ptr<Invariant> make_restart_budget();
/// safety.gives_up_early: an agent ends its job for failed workers only when no restart is left.
std::unique_ptr<Invariant> make_gives_up_early();
/// safety.claims_are_true: what an agent says of its workers and its job happened.
std::unique_ptr<Invariant> make_claims_are_true();
/// safety.first_cause: the failure an agent reports is the first one among its workers, and the
/// job's reports include the first failure of the round.
std::unique_ptr<Invariant> make_first_cause();
/// safety.no_orphans: 1 s after an agent's end none of its descendants runs.
std::unique_ptr<Invariant> make_no_orphans();
/// safety.store_lifetime: the rendezvous store goes only when no other agent of its job needs it
/// any more.
std::unique_ptr<Invariant> make_store_lifetime();
/// safety.store_linearizable: what the agents of a job have read and written where its state lies
/// has an order that explains all of it.
std::unique_ptr<Invariant> make_store_linearizable();
/// safety.polling: an agent asks its store no more often than its settings explain.
std::unique_ptr<Invariant> make_polling();
/// safety.bootstrap: workers are sent to an endpoint on the node of rank 0 of their round that was
/// not gone before the round was complete.
std::unique_ptr<Invariant> make_bootstrap();
/// safety.env_contract: what workers are told is unique, in range, agreed, and what the agents had
/// computed.
std::unique_ptr<Invariant> make_env_contract();
/// safety.exit_code_truth: exit code 0 exactly when the agent's part of the job is done.
std::unique_ptr<Invariant> make_exit_code_truth();
/// safety.no_escaped_error: what ends an agent is something its protocol knows, never an error that
/// its own code trips over.
std::unique_ptr<Invariant> make_no_escaped_error();

}  // namespace hooke::properties
