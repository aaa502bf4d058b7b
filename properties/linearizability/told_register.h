#pragma once
// What clients tell of one register while they use it: enough of it to judge by, in which order it
// can have happened, and in words where no order explains it.

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "properties/linearizability/register_history.h"
#include "sim/port/ids.h"

namespace hooke::properties {

/// One operation, as its client has told of it.
struct ToldOperation {
  using Kind = RegisterOperation::Kind;
  Kind kind{};
  std::int64_t expected = 0, value = 0;
  sim::WorldTime at{};             ///< when it was told
  sim::Duration began{}, ended{};  ///< before `at`, by the client's clock
  sim::NodeId node{};
  sim::Pid pid{};
  std::uint32_t client = 0;  ///< whatever else the caller knows its process by
  sim::EventId event{};

  [[nodiscard]] sim::WorldTime first() const { return at - began; }
  [[nodiscard]] sim::WorldTime last() const { return at - ended; }
};

/// What is told is kept until the end, for what is known of an operation only at its end may
/// explain others that ended earlier. Of the reads of one value two are enough, the one that ended
/// first and the one that began last, until a client writes that value again: so there are no more
/// operations than three for each write.
class ToldRegister {
 public:
  void take(const ToldOperation& operation);
  /// Another register may be in the place of this one: later reads are no longer like earlier ones.
  void keep_reads();
  /// A part of such a process has died: it may have made one more write than it could tell of.
  void part_died(const std::function<bool(sim::NodeId, sim::Pid)>& is_that_process);

  /// What lies outside of the operations, and is known by the end.
  struct Surroundings {
    std::vector<RegisterHistory::Span> gaps;
    std::optional<sim::WorldTime> may_vanish;
    /// What no client has written for so long may vanish from its last write and this on.
    sim::Duration life_min{};
    /// For how long some client's clock has stood still before an instant.
    std::function<sim::Duration(sim::WorldTime)> clock_stood_still;
    /// The process may have made one more write after this, the last that it told of.
    std::function<bool(const ToldOperation&)> may_write_after;
  };
  /// The operations that no order explains, `at_most` of them (see contradictions()).
  std::vector<ToldOperation> unexplained(Surroundings around, std::size_t at_most);
  /// Why none does, for a person. `name`: what to call the process that told of an operation.
  using Name = std::function<std::string(const ToldOperation&)>;
  [[nodiscard]] std::string witness(const ToldOperation& told, const Name& name) const;

 private:
  struct Reads {
    ToldOperation first, last;  ///< that ended first, that began last
  };
  void keep(const Reads& reads);
  /// What each process has told last, in the order of their nodes and numbers.
  [[nodiscard]] std::vector<ToldOperation> latest() const;
  [[nodiscard]] const ToldOperation* replacement(const ToldOperation& other,
                                                 sim::WorldTime until) const;
  [[nodiscard]] bool put_back(std::int64_t value, sim::WorldTime since, sim::WorldTime until) const;
  [[nodiscard]] std::string last_fitting(const ToldOperation& told, const Name& name) const;

  std::vector<ToldOperation> operations_;
  std::unordered_map<std::int64_t, Reads> reads_;            ///< by value, since it was written
  std::unordered_map<std::uint64_t, ToldOperation> latest_;  ///< by process
  std::vector<ToldOperation> before_deaths_;  ///< what the owner of a part that died had told last
};

}  // namespace hooke::properties
