// A span is printed with nine decimals: nanoseconds, without the rounding of a double.
#include "reports/exports/exposition.h"

#include <fmt/format.h>

#include "model/observe/metric_label.h"

namespace hooke::report {
namespace {

std::string in_seconds(sim::Duration span) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t whole = span.count() / kSecond;
  const std::int64_t rest = span.count() % kSecond;
  if (span.count() < 0) return fmt::format("-{}.{:09}", -whole, -rest);
  return fmt::format("{}.{:09}", whole, rest);
}

}  // namespace

void SpanHistogram::add(sim::Duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  for (std::size_t i = 0; i < kBoundsSeconds.size(); ++i) {
    if (seconds <= kBoundsSeconds[i]) {
      ++counts_[i];
      break;
    }
  }
  ++count_;
  sum_ += span;
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::line(std::string_view suffix, std::string_view labels, std::string_view value) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) text_ += fmt::format("{{{}}}", labels);
  text_ += fmt::format(" {}\n", value);
}

void Exposition::sample(std::int64_t value, std::string_view labels) {
  line("", labels, std::to_string(value));
}

void Exposition::seconds(sim::Duration span, std::string_view labels) {
  line("", labels, in_seconds(span));
}

void Exposition::seconds(sim::WallTime since_1970) {
  seconds(since_1970.time_since_epoch());
}

void Exposition::histogram(const SpanHistogram& histogram, std::string_view labels) {
  const std::string before = labels.empty() ? "" : std::string(labels) + ",";
  std::uint64_t cumulated = 0;
  for (std::size_t i = 0; i < SpanHistogram::kBoundsSeconds.size(); ++i) {
    cumulated += histogram.counts_[i];
    line("_bucket",
         before + model::metric_label("le", fmt::format("{}", SpanHistogram::kBoundsSeconds[i])),
         std::to_string(cumulated));
  }
  line("_bucket", before + model::metric_label("le", "+Inf"), std::to_string(histogram.count_));
  line("_sum", labels, in_seconds(histogram.sum_));
  line("_count", labels, std::to_string(histogram.count_));
}

}  // namespace hooke::report
