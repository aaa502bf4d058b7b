#pragma once
// What an agent does when workers of its group have failed. PyTorch has one answer, in the loop of
// SimpleElasticAgent (torch/distributed/elastic/agent/server/api.py:_invoke_run): the whole group,
// at once, as long as the agent's budget lasts. Here the answer is an object that a project may
// replace; how the budget is counted is RestartBudget's business.

#include <cstdint>
#include <map>
#include <string>

#include "model/plugin/registry.h"
#include "model/worker/process_failure.h"
#include "sim/port/time.h"

namespace hooke::model {

/// All that a policy may judge by.
struct FailedWorkers {
  /// What ended, in the order of detection; those that the agent itself stopped for it included.
  const ProcessFailures& failures;
  /// By local rank: how often that worker has failed by itself under this agent, now included.
  const std::map<std::int64_t, std::int64_t>& attempts_failed;
  std::int64_t restarts = 0;   ///< after failures, made by this agent before
  std::int64_t remaining = 0;  ///< restarts left in the budget; 0: none is granted
};

enum class RestartScope : unsigned char {
  none,            ///< the agent's part of the job has failed
  failed_workers,  ///< only those, with their ranks; the others go on
  group,           ///< all of this agent's workers, after a rendezvous with the other agents
};

struct RestartDecision {
  RestartScope scope = RestartScope::none;
  sim::Duration delay{};  ///< back-off, between the end of the old workers and what follows
  std::string reason;     ///< of RestartScope::none where the budget is not the reason
};

/// Decides by what it is told alone: it keeps nothing from one failure to the next.
class RestartPolicy {
 public:
  virtual ~RestartPolicy() = default;
  /// A scope other than none is granted only while `remaining` is above 0.
  [[nodiscard]] virtual RestartDecision decide(const FailedWorkers& failed) const = 0;
  /// True: it may answer failed_workers, so that the agent must not stop the others at the first
  /// failure. Such a policy needs the static rendezvous, or rejoins().
  [[nodiscard]] virtual bool restarts_single_workers() const { return false; }
  /// True: the user says that a worker which is started again alone can rejoin those that go on, so
  /// that its round goes on with it whatever the rendezvous.
  [[nodiscard]] virtual bool rejoins() const { return false; }
  /// The job has failed, for the `runs`-th time (from 1), and this agent was not told to end. True:
  /// once more from the beginning, with a rendezvous and a budget of its own. Also asked, with the
  /// number of its attempts at that run, for an agent that has failed while the others go on.
  [[nodiscard]] virtual bool runs_job_again(std::int64_t runs) const {
    return static_cast<void>(runs), false;
  }
};

/// Policies by name. with_builtins has:
/// * "torch": PyTorch's, the default;
/// * "backoff:first=1s,factor=2,longest=1m": the group, each time after a longer pause;
/// * "per-worker:attempts=3": the group, until one worker has used up its attempts;
/// * "failed-only:first=0s,factor=2,longest=1m,rejoin=no": only failed workers (static rendezvous;
///   any with rejoin=yes);
/// * "rerun:runs=2": as torch, and when nothing is left the whole job anew, `runs` times in all.
class RestartPolicyRegistry : public Registry<RestartPolicy> {
 public:
  RestartPolicyRegistry() : Registry("restart policy") {}
  static RestartPolicyRegistry with_builtins();
};

}  // namespace hooke::model
