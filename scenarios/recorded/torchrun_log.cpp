// A few words of each line that no other line has.
#include "scenarios/recorded/torchrun_log.h"

namespace hooke::scenario {

const std::map<std::string, std::string>& torchrun_log_environment() {
  static const std::map<std::string, std::string> variables{
      {"LOGLEVEL", "INFO"},
      // Closing is told by the module of the rendezvous alone, and who it was only in detail.
      {"TORCH_LOGS", "+torch.distributed.elastic.rendezvous.dynamic_rendezvous"}};
  return variables;
}

std::optional<Logged> TorchrunLog::read(std::string_view line) {
  const auto says = [&](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  };
  if (says("] failed (exitcode: ")) return Logged::worker_failed;
  if (says("] Local worker group finished (")) return Logged::exit_barrier_entered;
  if (says("] Done waiting for other agents.") || says("] Error waiting on exit barrier."))
    return Logged::exit_barrier_left;
  // Every agent that ends well finds the rendezvous "closed"; only one of them has made it so.
  if (says("' marked the rendezvous '") && says("' as closed.")) {
    closing_ = true;
  } else if (says("] The node '") && says("has a stale state and failed to sync")) {
    closing_ = false;
  } else if (closing_ && says("] The node '") && says("has successfully synced")) {
    closing_ = false;
    return Logged::closed;
  }
  return std::nullopt;
}

}  // namespace hooke::scenario
