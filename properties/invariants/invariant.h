#pragma once
// A promise judged on the trace alone, so that simulated and real runs are judged by the same code. An
// invariant sees every event once, in order, and says at which event it broke and by what.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::properties {

/// One broken promise.
struct Violation {
  std::string invariant;  ///< "safety.one_world"
  std::string witness;    ///< what a person must know to believe it: who, when, which values
  sim::WorldTime at{};
  sim::EventId event{};   ///< the event that broke it; kNoEvent when it broke by never happening
};

/// Facts about the run that are not events: how it ended.
struct RunFacts {
  sim::WorldTime end{};
  bool finished = false;  ///< every agent is over; false: the run was cut at a limit
  /// The instant of the last injected or healed fault; liveness is judged from there.
  sim::WorldTime last_fault{};
};

class Invariant {
 public:
  virtual ~Invariant() = default;
  /// "safety.…" or "liveness.…", as scenarios name it.
  [[nodiscard]] virtual std::string_view id() const = 0;
  /// One sentence: what is promised.
  [[nodiscard]] virtual std::string_view meaning() const = 0;
  virtual void on_event(const sim::Event& event) = 0;
  /// After the last event.
  virtual void finish(const RunFacts& facts) = 0;
  /// What broke, in order. At most a few per run: the first ones matter.
  [[nodiscard]] virtual const std::vector<Violation>& violations() const = 0;
};

/// Makes fresh invariants for one run.
class InvariantRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Invariant>()>;
  /// Appends; two with the same id: std::invalid_argument.
  void add(Factory factory);
  [[nodiscard]] std::vector<std::unique_ptr<Invariant>> make_all() const;
  /// All of section 8 of the design that the trace of this model can judge.
  static InvariantRegistry with_builtins();

 private:
  std::vector<Factory> factories_;
  std::vector<std::string> ids_;
};

/// True if `id` is matched by a pattern such as "safety.*", "*" or an exact id.
bool matches(std::string_view pattern, std::string_view id);

}  // namespace hooke::properties
