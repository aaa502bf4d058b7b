#pragma once
// The words of a timeline and their parameters: one table for the loader, its messages and the
// schema's test.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/port/process_host.h"

namespace hooke::scenario {

/// Parameters of a timeline entry, by their JSON keys.
enum Parameter : unsigned {
  kNode = 1U << 0U,
  kPaths = 1U << 1U,      ///< from, to, one_way
  kLocalRank = 1U << 2U,  ///< local_rank
  kSignal = 1U << 3U,     ///< signal
  kFor = 1U << 4U,        ///< for
  kBy = 1U << 5U,         ///< by
  kAmount = 1U << 6U,     ///< amount
  kText = 1U << 7U,       ///< text
};

/// What "amount" may be, both ends included.
struct AmountRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// The kind of a word that is no fault: it starts or arranges something.
inline constexpr std::string_view kNoFault = "no fault";

struct Word {
  std::string_view name;  ///< "node.crash"
  /// The kind of the fault that it puts on the trace, whose line in
  /// properties/invariants/fault_effects.h states what it hinders; or kNoFault. A word without
  /// either does not compile.
  std::string_view kind;
  /// Parameters without which it means nothing; `node` may be left out where a trigger names one.
  unsigned required;
  unsigned optional;  ///< parameters it may have besides
  bool negative_by;   ///< "by" may be negative
  std::string_view meaning;
  AmountRange amount{};  ///< of words with kAmount
  bool etcd = false;     ///< only etcd does that
};

/// Every word, in the order of the documentation.
std::span<const Word> vocabulary();
/// Those that need no etcd; they come first.
std::span<const Word> words_of_every_store();
/// Null for an unknown word.
const Word* find_word(std::string_view name);

/// "SIGTERM" or "TERM"; nullopt for a name the protocol does not use.
std::optional<sim::Signal> signal_named(std::string_view name);

/// Names that stand for nodes by what they are at the moment of acting.
std::span<const std::string_view> roles();

/// Every point in the model's code where a trigger may act ("agent.joined").
std::span<const std::string_view> fault_points();

}  // namespace hooke::scenario
