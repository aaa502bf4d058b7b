#pragma once
// The problem: an agent whose workers are done waits for the others, whatever these do. It hears
// neither that they want another round nor that the job has failed, and one answer of
// the store that is lost makes it and all others wait until their time-out.

#include <string_view>

#include "model/agent/exit_wait.h"
#include "model/hardened/agent/exit_barrier.h"
#include "model/hardened/agent/job_standing.h"

namespace hooke::model {

/// Looks at the others once a second.
class HardenedExitWait : public ExitWait {
 public:
  /// What is given must outlive this.
  HardenedExitWait(AgentCore& core, JobStanding& job) : ExitWait(core), job_(job) {}

  /// The barrier of the group's present round.
  [[nodiscard]] ExitBarrier barrier() const;

 protected:
  /// Besides "passed": "closed"; "others_return": these want another round; "left_behind": they
  /// have one, and there is no place in it for this agent.
  std::string_view meet() override;
  /// From one look at the others to the next.
  [[nodiscard]] virtual sim::Duration look_interval() const;
  /// Whether this agent, or one that had its rank before, has been counted. `again`: it has come
  /// before. StoreNetworkError.
  virtual bool is_counted(ExitBarrier& own, bool again);
  /// Tells the others that this agent goes back to work with them. StoreError.
  virtual void go_back(ExitBarrier& own);

 private:
  std::string_view look_up(ExitBarrier& own);
  void come_to(ExitBarrier& own, bool again);
  void say_that_it_goes_back(ExitBarrier& own);
  bool is_of_others(ExitBarrier& own);
  bool has_become_of_others(ExitBarrier& own);

  JobStanding& job_;
  bool is_taken_ = false;  ///< another group has the round, and its barrier
  bool has_said_ = false;  ///< that it goes back, perhaps in the barrier of that group
};

}  // namespace hooke::model
