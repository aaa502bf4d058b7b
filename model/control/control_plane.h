#pragma once
// The worker server of PyTorch as a part of the agent: handlers by name over HTTP
// (torch/csrc/distributed/c10d/control_plane/WorkerServer.cpp, Handlers.cpp), and what monitors
// come for: metrics and health.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/http/http_service.h"
#include "model/observe/metrics.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct ControlAnswer {
  int status = 200;
  std::string content_type = "text/plain";
  std::string body;
};

class ControlPlane {
 public:
  /// What it raises becomes status 500.
  using Handler = std::function<ControlAnswer(const HttpQuery& query)>;

  /// With "ping" (pong) and "wait_counter_values" ({}). std::runtime_error when the port (0: any)
  /// is taken.
  ControlPlane(sim::Ports& ports, sim::PortNumber port);
  /// std::invalid_argument when there is one of that name.
  void add(const std::string& name, Handler handler);
  /// Serves them as GET /metrics.
  void show(MetricBoard board) { board_ = std::move(board); }
  [[nodiscard]] sim::PortNumber port() const { return service_.port(); }

 private:
  [[nodiscard]] ControlAnswer answer(const HttpQuery& query) const;
  [[nodiscard]] ControlAnswer call(const std::string& name, const HttpQuery& query) const;

  std::map<std::string, Handler> handlers_;
  std::optional<MetricBoard> board_;
  HttpService service_;
};

}  // namespace hooke::model
