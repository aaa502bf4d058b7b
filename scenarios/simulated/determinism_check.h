#pragma once
// Two runs of one scenario with one seed must be the same run. The first is written down compactly,
// the second is compared with it event by event, and the first event that differs is shown as both
// had it: a hash alone would say that something differs, never where.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/simulated/runner.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

/// One line a person can read: time, node and process, name, fields, cause.
std::string describe(const sim::Event& event, const std::vector<std::string>& node_names);

/// Writes a run down. Up to `bytes_max` all of it; beyond that only a word per event, by which a
/// difference is still found but not shown.
class FirstRun final : public kernel::TraceSink {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20U;
  /// `recorder` is the one this sink is registered with.
  explicit FirstRun(const kernel::TraceRecorder& recorder, std::size_t bytes_max = kBytesMax)
      : recorder_(recorder), bytes_max_(bytes_max) {}
  void on_event(const sim::Event& event) override;
  /// The run is over: its last hash and the reason why it ended.
  void finish(kernel::RunEnd end);

 private:
  friend class SecondRun;
  const kernel::TraceRecorder& recorder_;
  std::size_t bytes_max_;
  std::vector<std::uint64_t> words_;   ///< per event: header, fields
  std::string texts_;                  ///< texts of all fields, one after the other
  std::vector<std::uint64_t> hashes_;  ///< running hash after each event
  std::size_t kept_ = 0;               ///< events that are in words_ and texts_
  std::string last_hash_;
  kernel::RunEnd end_{};
};

/// Compares a second run with the first.
class SecondRun final : public kernel::TraceSink {
 public:
  /// `stop` is called once, at the first difference.
  SecondRun(const FirstRun& first, const kernel::TraceRecorder& recorder,
            const std::vector<std::string>& node_names, std::function<void()> stop)
      : first_(first), recorder_(recorder), node_names_(node_names), stop_(std::move(stop)) {}
  void on_event(const sim::Event& event) override;
  /// The second run is over.
  void finish(kernel::RunEnd end);
  [[nodiscard]] const std::optional<TraceDifference>& difference() const { return difference_; }

 private:
  void differ(std::string first, std::string second);
  [[nodiscard]] std::string first_event() const;

  const FirstRun& first_;
  const kernel::TraceRecorder& recorder_;
  const std::vector<std::string>& node_names_;
  std::function<void()> stop_;
  std::optional<TraceDifference> difference_;
  std::size_t events_ = 0;  ///< seen and found equal
  std::size_t word_ = 0;    ///< place of the next event in the first run's words
  std::size_t text_ = 0;    ///< and of its first text
};

}  // namespace hooke::scenario
