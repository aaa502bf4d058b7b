// Names of metrics are free: they are labels, not names, of what Prometheus reads.
#include "model/observe/metrics.h"

#include <cstdio>
#include <utility>

#include "model/observe/metric_label.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

double seconds_of(sim::WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

MetricHandler console_metrics(sim::Ports& ports) {
  return [&ports](const MetricData& metric) {
    HOOKE_CHECK(!metric.name.empty(), "a metric has a name");
    char time[32];
    std::snprintf(time, sizeof(time), "%.6f", metric.timestamp);
    static_cast<void>(ports.files.append(
        "/dev/stdout", "[" + std::string(time) + "][" + std::string(metric.group) + "]: " +
                           std::string(metric.name) + "=" + std::to_string(metric.value) + "\n"));
  };
}

MetricHandler MetricBoard::handler() {
  return [entries = entries_](const MetricData& metric) {
    HOOKE_CHECK(!metric.name.empty(), "a metric has a name");
    Entry& entry = (*entries)[{std::string(metric.group), std::string(metric.name)}];
    entry.value = metric.value;
    ++entry.puts;
  };
}

std::string MetricBoard::prometheus_text() const {
  std::string values =
      "# HELP hooke_elastic_metric Latest value of a metric of the elastic agent.\n"
      "# TYPE hooke_elastic_metric gauge\n";
  if (entries_->empty()) return "";
  std::string counts =
      "# HELP hooke_elastic_metric_total How often a metric was put.\n"
      "# TYPE hooke_elastic_metric_total counter\n";
  for (const auto& [key, entry] : *entries_) {
    const std::string labels =
        "{" + metric_label("group", key.first) + "," + metric_label("name", key.second) + "} ";
    HOOKE_CHECK(entry.puts > 0, "a metric that is shown was put");
    values += "hooke_elastic_metric" + labels + std::to_string(entry.value) + "\n";
    counts += "hooke_elastic_metric_total" + labels + std::to_string(entry.puts) + "\n";
  }
  return values + counts;
}

void Metrics::configure(MetricHandler handler, const std::string& group) {
  if (group.empty()) {
    fallback_ = std::move(handler);
  } else {
    by_group_[group] = std::move(handler);
  }
}

void Metrics::put(std::string_view name, std::int64_t value, std::string_view group) const {
  HOOKE_CHECK(!name.empty(), "a metric has a name");
  const auto found = by_group_.find(group);
  const MetricHandler& handler = found == by_group_.end() ? fallback_ : found->second;
  if (handler) handler({seconds_of(clock_.wall_now()), group, name, value});
}

void Metrics::put_duration(std::string_view name, sim::WallTime begin, const char* result) const {
  if (!wanted()) return;
  HOOKE_CHECK(result != nullptr, "what took its time has ended");
  const auto spent =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now() - begin);
  put(std::string(name) + result, 1);
  put(std::string(name) + ".duration.ms", spent.count());
}

}  // namespace hooke::model
