#pragma once
// How an agent at work learns that its job has failed for good on another node.
//
// PyTorch's agents do not tell: an agent that gives a job up closes the rendezvous, and the others
// find out when their own workers fail, or never, since no agent at work looks whether it is
// closed. Closing alone says too little: agents that are done close, too.

#include <cstdint>
#include <memory>

#include "model/store/store.h"

namespace hooke::model {

/// Said under a key of its own in the job's store ("failed/ROUND"), which agents of torch-2.x
/// neither write nor read: to them a hardened agent's failure is what it has always been.
class JobFailure {
 public:
  /// `store`: the job's; null where there is none: then no agent is told.
  explicit JobFailure(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  /// The workers of `round` have failed and are not started again. False: the store does not
  /// answer.
  bool tell(std::int64_t round);
  /// An agent has told so. StoreError.
  bool is_told(std::int64_t round);

 private:
  std::shared_ptr<Store> store_;
};

}  // namespace hooke::model
