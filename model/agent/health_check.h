#pragma once
// The health check of an agent (torch/distributed/elastic/agent/server/health_check_server.py,
// whose open-source form is a stub; local_elastic_agent.py:_setup_healthcheck).

#include <functional>
#include <memory>

#include "model/http/http_service.h"
#include "sim/port/ports.h"

namespace hooke::model {

class HealthCheck {
 public:
  explicit HealthCheck(sim::Ports& ports) : ports_(ports) {}

  /// Serves on the port of TORCHELASTIC_HEALTH_CHECK_PORT, if that is one and is free: 200 "alive"
  /// while `last_alive` is at most 60 s ago by the wall clock, else 503.
  void start(std::function<sim::WallTime()> last_alive);
  void stop() { service_ = nullptr; }

 private:
  sim::Ports& ports_;
  std::unique_ptr<HttpService> service_;
};

}  // namespace hooke::model
