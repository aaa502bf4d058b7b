#pragma once
// In which manners an agent may close its rendezvous, by name.

#include "model/plugin/registry.h"
#include "model/rendezvous/core/shutdown.h"

namespace hooke::model {

/// Manners by name. with_builtins has:
/// * "torch": closes at once, PyTorch's and the default;
/// * "graceful:limit=30s": waits until no other participant is at work, and no longer than `limit`;
/// * "strict": is an error, and closes nothing, while other participants are at work.
class ShutdownRegistry : public Registry<ShutdownManner> {
 public:
  ShutdownRegistry() : Registry("shutdown") {}
  static ShutdownRegistry with_builtins();
};

}  // namespace hooke::model
