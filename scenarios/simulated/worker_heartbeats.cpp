// What a worker does about heartbeats: its own, and those of others that its agent tells it of.
#include <stdexcept>

#include "model/observe/view_events.h"
#include "scenarios/simulated/worker_program.h"

namespace hooke::scenario {

bool WorkerRun::beat(const std::string& what) {
  if (heartbeat_ == nullptr) {
    try {
      const auto options = model::heartbeat_options(ports_.processes.environment());
      if (!options) return true;
      heartbeat_ = std::make_unique<model::HeartbeatClient>(ports_, *options);
      holdings_.hold("heartbeats", [this] { heartbeat_->stop(); });
    } catch (const std::invalid_argument&) {
      return false;
    }
  }
  if (what == "start") heartbeat_->start();
  if (what == "pause") heartbeat_->pause();
  if (what == "stop") heartbeat_->stop();
  return true;
}

bool WorkerRun::sees(const WorkerStep& step) {
  constexpr Duration kLookAtPeers = 100ms;
  if (heartbeat_ == nullptr) return false;
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + patience();
  const auto peer = static_cast<std::size_t>(step.count);
  for (;;) {
    const std::optional<model::PeersSeen> seen = heartbeat_->peers();
    const model::WorkerLife life =
        seen && peer < seen->lives.size() ? seen->lives[peer] : model::WorkerLife::unknown;
    if (seen && to_string(life) == step.text) {
      ports_.trace.emit(model::events::worker_peer_seen,
                        {std::int64_t{std::stoll(variable("RANK"))}, step.count, step.text});
      return true;
    }
    if (ports_.clock.monotonic_now() >= give_up) return false;
    rest(kLookAtPeers);
  }
}

}  // namespace hooke::scenario
