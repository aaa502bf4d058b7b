// A server per worker start, as PyTorch has it.
#include "model/agent/health_check.h"

#include <charconv>
#include <stdexcept>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kAliveWithin = std::chrono::seconds(60);

}  // namespace

void HealthCheck::start(std::function<sim::WallTime()> last_alive) {
  HOOKE_CHECK(last_alive != nullptr,
              "a health check has a function that tells the time of the last progress");
  const auto& environment = ports_.processes.environment();
  const auto variable = environment.find("TORCHELASTIC_HEALTH_CHECK_PORT");
  if (variable == environment.end()) return;
  const std::string& text = variable->second;
  std::uint16_t port = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), port);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return;  // told, not raised
  service_ = nullptr;  // gives the port back first
  try {
    service_ = std::make_unique<HttpService>(
        ports_, sim::PortNumber{port},
        [this, last_alive = std::move(last_alive)](const std::shared_ptr<HttpExchange>& exchange) {
          const bool alive = ports_.clock.wall_now() - last_alive() <= kAliveWithin;
          exchange->answer(alive ? 200 : 503, alive ? "alive\n" : "not alive\n",
                           {{"Content-Type", "text/plain"}});
        },
        HttpService::Reach{false, HttpService::kFewConnections});
  } catch (const std::runtime_error& error) {
    ports_.trace.emit(events::watchdog_failed, {"health check", error.what()});
  }
}

}  // namespace hooke::model
