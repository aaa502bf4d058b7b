#pragma once
// The text exposition format of Prometheus: families of samples, each with HELP and TYPE. Numbers are
// in base units, and names follow https://prometheus.io/docs/practices/naming/.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/port/time.h"

namespace hooke::report {

/// A histogram of spans whose buckets end at fixed bounds.
class SpanHistogram {
 public:
  static constexpr std::array<double, 12> kBoundsSeconds{0.0005, 0.001, 0.005, 0.01, 0.05, 0.1,
                                                         0.5,    1,     5,     30,   60,   300};
  void add(sim::Duration span);

 private:
  friend class Exposition;
  std::array<std::uint64_t, kBoundsSeconds.size()> counts_{};  ///< by bucket, not cumulated
  std::uint64_t count_ = 0;
  sim::Duration sum_{};
};

class Exposition {
 public:
  /// The samples that follow belong to `name`, a "gauge", "counter" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// `labels`: none, or what model::metric_label() made, with commas between.
  void sample(std::int64_t value, std::string_view labels = "");
  void seconds(sim::Duration span, std::string_view labels = "");
  void seconds(sim::WallTime since_1970);
  void histogram(const SpanHistogram& histogram, std::string_view labels = "");

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, std::string_view labels, std::string_view value);

  std::string text_;
  std::string name_;
};

}  // namespace hooke::report
