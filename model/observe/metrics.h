#pragma once
// PyTorch's metrics, and where they go (torch/distributed/elastic/metrics/api.py).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/port/ports.h"

namespace hooke::model {

struct MetricData {
  double timestamp = 0;  ///< seconds of wall time
  std::string_view group;
  std::string_view name;
  std::int64_t value = 0;
};

using MetricHandler = std::function<void(const MetricData&)>;

/// Writes "[timestamp][group]: name=value" lines to the standard output stream.
MetricHandler console_metrics(sim::Ports& ports);

/// Keeps the latest value of each metric and how often it was put, for the scraper.
class MetricBoard {
 public:
  [[nodiscard]] MetricHandler handler();
  /// The text exposition format of Prometheus: hooke_elastic_metric{group,name} and …_total.
  [[nodiscard]] std::string prometheus_text() const;

 private:
  struct Entry {
    std::int64_t value = 0;
    std::uint64_t puts = 0;
  };
  std::shared_ptr<std::map<std::pair<std::string, std::string>, Entry>> entries_ =
      std::make_shared<std::map<std::pair<std::string, std::string>, Entry>>();
};

class Metrics {
 public:
  explicit Metrics(sim::Clock& clock) : clock_(clock) {}
  /// The handler of one group, or of all groups that have none of their own. Without any, metrics
  /// are dropped.
  void configure(MetricHandler handler, const std::string& group = "");
  void put(std::string_view name, std::int64_t value,
           std::string_view group = "torchelastic") const;
  /// False: put() has no effect, and names for it need not be built.
  [[nodiscard]] bool wanted() const { return fallback_ != nullptr || !by_group_.empty(); }

  /// Calls `body` and puts "<name>.success" or "<name>.failure" (for a std::exception, which goes
  /// on), then "<name>.duration.ms" (metrics/api.py:prof).
  template <class Body>
  auto profile(std::string_view name, Body&& body) const -> decltype(body());

 private:
  void put_duration(std::string_view name, sim::WallTime begin, const char* result) const;

  sim::Clock& clock_;
  MetricHandler fallback_;
  std::map<std::string, MetricHandler, std::less<>> by_group_;
};

template <class Body>
auto Metrics::profile(std::string_view name, Body&& body) const -> decltype(body()) {
  struct Report {
    ~Report() {
      if (result != nullptr) metrics.put_duration(name, begin, result);
    }
    const Metrics& metrics;
    std::string_view name;
    sim::WallTime begin;
    const char* result;  ///< null while the body runs, and when the process ends in it
  } report{*this, name, clock_.wall_now(), nullptr};
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      report.result = ".success";
    } else {
      auto value = body();
      report.result = ".success";
      return value;
    }
  } catch (const std::exception&) {
    report.result = ".failure";
    throw;
  }
}

}  // namespace hooke::model
