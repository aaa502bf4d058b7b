// The built-in kinds.
#include "model/timer/kinds/timer_registry.h"

#include <charconv>
#include <utility>

#include "model/observe/python_error.h"
#include "model/timer/group_timer.h"
#include "model/timer/kinds/timers_of_variant.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr const char* kTimerServer = "HOOKE_TIMER_SERVER";
constexpr const char* kThisMachine = "localhost";

std::string variable_of(sim::Ports& ports, const char* name) {
  const auto& environment = ports.processes.environment();
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// Workers that are watched are told one limit for all of them.
class LimitedWatch final : public WorkerTimers {
 public:
  LimitedWatch(std::unique_ptr<WorkerTimers> watch, sim::Duration limit)
      : watch_(std::move(watch)), limit_(limit) {
    HOOKE_CHECK(watch_ != nullptr && limit_ >= std::chrono::milliseconds(1),
                "workers that are watched are told of one millisecond at least");
  }
  std::map<std::string, std::string> start(const std::string& run_id) override {
    std::map<std::string, std::string> told = watch_->start(run_id);
    // Without a server no deadline means anything.
    if (!told.empty())
      told[kTimerLimitVariable] = std::to_string(limit_ / std::chrono::milliseconds(1));
    return told;
  }
  void stop() override { watch_->stop(); }
  [[nodiscard]] const TimerServer* server() const override { return watch_->server(); }

 private:
  std::unique_ptr<WorkerTimers> watch_;
  sim::Duration limit_;
};

std::unique_ptr<WorkerTimers> limited(std::unique_ptr<WorkerTimers> watch,
                                      std::optional<sim::Duration> limit) {
  if (!limit) return watch;
  return std::make_unique<LimitedWatch>(std::move(watch), *limit);
}

/// "limit", where it is chosen.
std::optional<sim::Duration> limit_of(const PluginChoice& choice) {
  if (!choice.options.contains("limit")) return std::nullopt;
  const sim::Duration limit = choice.span("limit", {});
  if (limit < std::chrono::milliseconds(1)) choice.refuse("limit", "at least 1ms");
  return limit;
}

class FileTimers final : public TimerKind {
 public:
  explicit FileTimers(std::optional<sim::Duration> limit) : limit_(limit) {}
  [[nodiscard]] std::unique_ptr<WorkerTimers> watch(const TimerParts& parts) const override {
    return limited(make_watchdog(parts), limit_);
  }
  [[nodiscard]] std::unique_ptr<TimerClient> client(
      sim::Ports& ports, Variant variant, std::optional<sim::Signal> signal) const override {
    return make_file_timer_client(ports, variable_of(ports, "TORCHELASTIC_TIMER_FILE"), variant,
                                  signal);
  }

 private:
  std::optional<sim::Duration> limit_;
};

/// A queue, what fills it and what works it off, anew for each incarnation.
class QueueWatch final : public WorkerTimers {
 public:
  QueueWatch(const TimerParts& parts, sim::Duration interval)
      : ports_(parts.ports), interval_(interval), planted_(parts.planted), variant_(parts.variant) {
    HOOKE_CHECK(interval_ > sim::Duration::zero(), "a watch looks again and again");
  }

  std::map<std::string, std::string> start(const std::string&) override {
    stop();
    auto queue = std::make_shared<TimerQueue>(ports_.executor);
    listener_ = std::make_unique<TimerListener>(ports_, sim::PortNumber{0}, queue);
    server_ = make_queue_timer_server(ports_, std::move(queue), interval_, planted_, variant_);
    HOOKE_CHECK(listener_->port().value != 0, "workers are told a port that can be reached");
    HOOKE_CHECK(server_ != nullptr, "a server of timers is there when workers are told of it");
    server_->start();
    return {
        {kTimerServer, std::string(kThisMachine) + ":" + std::to_string(listener_->port().value)}};
  }
  void stop() override {
    listener_ = nullptr;
    if (server_ != nullptr) server_->stop();
    server_ = nullptr;
  }
  [[nodiscard]] const TimerServer* server() const override { return server_.get(); }

 private:
  sim::Ports& ports_;
  sim::Duration interval_;
  PlantedSet planted_;
  Variant variant_;
  std::unique_ptr<TimerListener> listener_;
  std::unique_ptr<QueueTimerServer> server_;
};

class QueueTimers final : public TimerKind {
 public:
  QueueTimers(sim::Duration interval, std::optional<sim::Duration> limit)
      : interval_(interval), limit_(limit) {}
  [[nodiscard]] std::unique_ptr<WorkerTimers> watch(const TimerParts& parts) const override {
    return limited(std::make_unique<QueueWatch>(parts, interval_), limit_);
  }
  [[nodiscard]] std::unique_ptr<TimerClient> client(sim::Ports& ports, Variant,
                                                    std::optional<sim::Signal>) const override {
    const std::string server = variable_of(ports, kTimerServer);
    const std::size_t colon = server.rfind(':');
    std::uint16_t port = 0;
    if (colon != std::string::npos)
      std::from_chars(server.data() + colon + 1, server.data() + server.size(), port);
    if (port == 0) {
      throw EscapedPythonError(
          "RuntimeError", std::string(kTimerServer) + " is not HOST:PORT but \"" + server + "\"");
    }
    return std::make_unique<QueueTimerClient>(
        ports, sim::Endpoint{server.substr(0, colon), sim::PortNumber{port}});
  }

 private:
  sim::Duration interval_;
  std::optional<sim::Duration> limit_;
};

}  // namespace

TimerRegistry TimerRegistry::with_builtins() {
  using namespace std::chrono_literals;
  TimerRegistry registry;
  registry.add("file", [](const PluginChoice& choice) {
    choice.allow({"limit"});
    return std::make_unique<FileTimers>(limit_of(choice));
  });
  registry.add("queue", [](const PluginChoice& choice) {
    choice.allow({"interval", "limit"});
    const sim::Duration interval = choice.span("interval", 100ms);
    if (interval < 1ms) choice.refuse("interval", "at least 1ms");
    return std::make_unique<QueueTimers>(interval, limit_of(choice));
  });
  return registry;
}

}  // namespace hooke::model
