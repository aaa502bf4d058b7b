#pragma once
// The agent's side of a worker pool.

#include <memory>

#include "model/worker/process_launcher.h"

namespace hooke::model {

/// "pool": leases its workers from the pool at `host` and `port`, for which it waits up to half a
/// minute. std::invalid_argument for other options. Workers end with the lease: when the agent's
/// process dies, whatever the way, the pool kills them, which a parent of its own workers cannot
/// invariant.
std::unique_ptr<ProcessLauncherKind> pool_launcher_kind(const PluginChoice& choice);

}  // namespace hooke::model
