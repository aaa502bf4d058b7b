// Routes and texts of PyTorch's server.
#include "model/control/control_plane.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Takes as long for a token that is nearly right as for any other of its length.
bool equal_in_constant_time(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

ControlPlane::ControlPlane(sim::Ports& ports) : ports_(ports) {
  add("ping", [](const HttpQuery&) { return ControlAnswer{200, "text/plain", "pong"}; });
  add("wait_counter_values", [](const HttpQuery&) {
    return ControlAnswer{200, "application/json", "{}"};
  });
}

HttpService::Handler ControlPlane::handler(std::string token) const {
  return [this, shown = token.empty() ? "" : "Bearer " + token](
             const std::shared_ptr<HttpExchange>& exchange) {
    if (!shown.empty() && !equal_in_constant_time(exchange->query().authorization, shown)) {
      exchange->answer(401, "a token is asked for\n",
                       {{"Content-Type", "text/plain"}, {"WWW-Authenticate", "Bearer"}});
      return;
    }
    const ControlAnswer given = answer(exchange->query());
    HOOKE_CHECK(!given.content_type.empty(), "an answer says what it is");
    exchange->answer(given.status, given.body, {{"Content-Type", given.content_type}});
  };
}

sim::PortNumber ControlPlane::serve(sim::PortNumber port, bool to_other_machines,
                                    const std::string& token) {
  services_.push_back(std::make_unique<HttpService>(
      ports_, port, handler(token),
      HttpService::Reach{!to_other_machines, HttpService::kFewConnections}));
  HOOKE_CHECK(services_.back()->port().value != 0, "a service that others reach has a port");
  return services_.back()->port();
}

void ControlPlane::serve(const std::string& socket_file) {
  services_.push_back(std::make_unique<HttpService>(ports_, socket_file, handler()));
}

void ControlPlane::add(const std::string& name, Handler handler) {
  HOOKE_CHECK(!name.empty(), "a handler is called by its name");
  const auto [added, is_new] = handlers_.emplace(name, std::move(handler));
  if (!is_new) throw std::invalid_argument("Handler " + name + " already registered");
  HOOKE_CHECK(added->second != nullptr, "a handler that is added can be called");
}

ControlAnswer ControlPlane::answer(const HttpQuery& query) const {
  constexpr std::string_view kHandler = "/handler/";
  if (query.method == "GET" && query.path == "/") {
    return {200, "text/html",
            "<h1>torch.distributed.WorkerServer</h1>\n<a href=\"/handler/\">Handler names</a>\n"};
  }
  if (query.method == "GET" && query.path == kHandler) {
    nlohmann::json names = nlohmann::json::array();
    for (const auto& [name, handler] : handlers_) names.push_back(name);
    HOOKE_CHECK(names.size() == handlers_.size(), "each handler is listed");
    return {200, "application/json",
            names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  }
  if (query.method == "GET" && query.path == "/metrics" && board_) {
    return {200, "text/plain; version=0.0.4",
            (more_metrics_ ? more_metrics_() : "") + board_->prometheus_text()};
  }
  if (query.method == "POST" && query.path.starts_with(kHandler)) {
    return call(query.path.substr(kHandler.size()), query);
  }
  return {404, "text/plain", ""};
}

ControlAnswer ControlPlane::call(const std::string& name, const HttpQuery& query) const {
  const auto found = handlers_.find(name);
  if (found == handlers_.end()) {
    return {404, "text/plain", "Handler " + name + " not found: Failed to find handler " + name};
  }
  try {
    return found->second(query);
  } catch (const std::exception& error) {
    return {500, "text/plain", "Handler " + name + " failed: " + error.what()};
  }
}

}  // namespace hooke::model
