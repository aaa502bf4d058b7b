#pragma once
// The problem: after a server of timers has stood still, the release of a timer may be behind other
// requests, or not even be in the queue yet, and a worker that was in time is ended.

#include "model/timer/queue_timer.h"

namespace hooke::model {

/// Takes in all that is pending or on its way before it ends a worker.
class HardenedQueueTimerServer final : public QueueTimerServer {
 public:
  using QueueTimerServer::QueueTimerServer;

 protected:
  bool hear_the_rest() override;
};

}  // namespace hooke::model
