#pragma once
// What every scenario calls the same: its programs, the machine of an external store, its job.

#include <string_view>

#include "sim/port/ids.h"

namespace hooke::scenario {

/// Names of the programs (argv[0]) and of the machine that serves an external store.
inline constexpr std::string_view kAgentProgram = "agent";
inline constexpr std::string_view kWorkerProgram = "worker";
inline constexpr std::string_view kWorkerChildProgram = "worker-child";
inline constexpr std::string_view kPoolProgram = "worker-pool";
inline constexpr std::string_view kProbeProgram = "health-probe";
inline constexpr std::string_view kStoreProgram = "store-server";
inline constexpr std::string_view kStoreMachine = "store";
/// Where the rendezvous store listens (PyTorch's default for c10d).
inline constexpr sim::PortNumber kStorePort{29400};
/// The run id of the scenario's job.
inline constexpr std::string_view kRunId = "job";

}  // namespace hooke::scenario
