#pragma once
// Collects the events of a run: numbers them, links each to its cause, folds them into a rolling
// 128-bit hash and hands them to sinks. Nothing is kept here, so a run of a hundred thousand nodes
// needs no more memory than its sinks choose to use.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::kernel {

/// 128-bit rolling hash over numbers and texts. Defined by arithmetic on fixed-width integers
/// alone: equal on every compiler, optimisation level and machine.
class TraceHash {
 public:
  void add(std::uint64_t word) {
    low_ = (low_ ^ word) * 0x9fb21c651e98df25ULL;
    low_ ^= low_ >> 32U;
    high_ = (high_ + low_) * 0xd6e8feb86659fd93ULL;
    high_ ^= high_ >> 29U;
  }
  void add(std::string_view text);
  /// 32 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] std::uint64_t low() const { return low_; }
  friend bool operator==(const TraceHash&, const TraceHash&) = default;

 private:
  std::uint64_t low_ = 0x243f6a8885a308d3ULL;
  std::uint64_t high_ = 0x13198a2e03707344ULL;
};

/// An observer of every event: an invariant, a trace file, a timeline, a trigger of the
/// fault engine. Called synchronously; must not block and must not emit.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_event(const sim::Event& event) = 0;
};

class TraceRecorder {
 public:
  /// Adds a sink for the rest of the run; sinks are called in the order they were added. `sink`
  /// must outlive the run.
  void add_sink(TraceSink& sink) { sinks_.push_back(&sink); }

  /// Emits an event. `cause` is read and then replaced by the new event, so that consecutive events
  /// of one activity form a chain.
  sim::EventId emit(sim::EventId& cause, sim::WorldTime at, sim::WallTime wall, sim::NodeId node,
                    sim::Pid pid, const sim::EventType& type,
                    std::span<const sim::FieldValue> fields);

  /// Folds a step that is not worth an event (a fiber switch, a timer) into the hash.
  void fold(std::uint64_t word) { hash_.add(word); }

  [[nodiscard]] const TraceHash& hash() const { return hash_; }
  [[nodiscard]] std::uint64_t event_count() const { return next_id_ - 1; }

 private:
  TraceHash hash_;
  std::uint64_t next_id_ = 1;
  std::vector<TraceSink*> sinks_;
};

}  // namespace hooke::kernel
