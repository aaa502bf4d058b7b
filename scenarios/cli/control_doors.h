#pragma once
// Where the control plane of `hooke agent` is served: its options, and the doors that they open.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/agent/agent_reports.h"
#include "model/control/control_plane.h"
#include "reports/exports/agent_metrics.h"
#include "sim/port/ports.h"

namespace hooke::cli {

struct ControlDoors {
  std::optional<std::uint16_t> port;
  std::string bind = "loopback";
  std::string token_file;
  std::string socket_file;
};

void add_control_doors(CLI::App& command, ControlDoors& doors);

/// The control plane with what `observers` and `metrics` measure, which must outlive it; null when no
/// option asked for one.
/// std::runtime_error naming the option whose door cannot be, or whose file holds no token or one
/// that other users may read.
std::unique_ptr<model::ControlPlane> open_control_doors(sim::Ports& ports,
                                                        model::Observers& observers,
                                                        const report::AgentMetrics& metrics,
                                                        const ControlDoors& doors);

}  // namespace hooke::cli
