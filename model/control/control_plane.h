#pragma once
// The worker server of PyTorch as a part of the agent: handlers by name over HTTP
// (torch/csrc/distributed/c10d/control_plane/WorkerServer.cpp, Handlers.cpp), and what monitors
// come for: metrics and health.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  /// With "ping" (pong) and "wait_counter_values" ({}). Serves no client yet.
  explicit ControlPlane(sim::Ports& ports);
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  /// From now on on this port too (0: any), to clients of this machine ("localhost") or of all;
  /// the one that it is. PyTorch's serves all. A client has to show the `token`, where there is one,
  /// as RFC 6750 says; PyTorch's knows none. std::runtime_error when the port is taken.
  sim::PortNumber serve(sim::PortNumber port, bool to_other_machines,
                        const std::string& token = "");
  /// And on this socket file, which goes with the control plane. One that a server that died has
  /// left behind is replaced, where PyTorch's refuses it. std::runtime_error saying what is wrong.
  void serve(const std::string& socket_file);
  /// std::invalid_argument when there is one of that name.
  void add(const std::string& name, Handler handler);
  /// Serves them as GET /metrics.
  void show(MetricBoard board) { board_ = std::move(board); }
  /// And before them what `metrics` returns then, in the text exposition format of Prometheus.
  void show(std::function<std::string()> metrics) { more_metrics_ = std::move(metrics); }

 private:
  [[nodiscard]] ControlAnswer answer(const HttpQuery& query) const;
  [[nodiscard]] ControlAnswer call(const std::string& name, const HttpQuery& query) const;

  [[nodiscard]] HttpService::Handler handler(std::string token = "") const;

  sim::Ports& ports_;
  std::map<std::string, Handler> handlers_;
  std::optional<MetricBoard> board_;
  std::function<std::string()> more_metrics_;
  std::vector<std::unique_ptr<HttpService>> services_;
};

}  // namespace hooke::model
