#pragma once
// The words of a timeline: one descriptor for each, from which everything else that is said of it
// follows.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scenarios/format/scenario.h"
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

struct ParameterKey {
  Parameter parameter;
  const char* name;
  bool needed;  ///< when its parameter is required
};
inline constexpr std::array<ParameterKey, 10> kParameterKeys{{{kNode, "node", true},
                                                              {kPaths, "from", true},
                                                              {kPaths, "to", false},
                                                              {kPaths, "one_way", false},
                                                              {kLocalRank, "local_rank", true},
                                                              {kSignal, "signal", true},
                                                              {kFor, "for", true},
                                                              {kBy, "by", true},
                                                              {kAmount, "amount", true},
                                                              {kText, "text", true}}};

/// What "amount" may be, both ends included.
struct AmountRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// The kind of a word that is no fault: it starts or arranges something.
inline constexpr std::string_view kNoFault = "no fault";

/// What a word acts on, where one fault of the world, of the word's kind, is all that it does. Such
/// a word needs no code of its own in the simulated world.
enum class Target : unsigned char {
  own,      ///< code of its own says: scenarios/outcome/common_actions.cpp, or the world's actions
  nodes,    ///< the machines of the nodes
  agents,   ///< each living agent of the nodes
  workers,  ///< the workers of the nodes, or that of each with the local rank
  paths,    ///< the network between `from` and `to`
  store,    ///< the service of the rendezvous store
  etcd,     ///< a mode of the simulated etcd
};

/// What is meant by a parameter that an entry leaves out.
struct Usual {
  std::optional<Duration> duration{};
  std::optional<Duration> span{};
  std::optional<std::int64_t> amount{};
  std::string_view signal{};
};

/// How swarm draws "amount": a number of units, both ends included. One number only: no draw.
struct DrawnAmount {
  std::int64_t low = 1;
  std::int64_t high = 9;
  std::int64_t unit = 1;
};

/// What "text" names.
enum class TextIs : unsigned char { name, background_task, error };

/// All that is said of a word in one place. The loader and its messages, the schema, the page of
/// words (scenarios/words.md), the swarm and both worlds follow from it; the only other file of a
/// new word is the one with its effect.
struct Word {
  std::string_view name;  ///< "node.crash"
  /// The kind of the fault that it puts on the trace, whose line in
  /// properties/invariants/fault_effects.h states what it hinders; or kNoFault. A word without
  /// either does not compile.
  std::string_view kind;
  std::string_view meaning;
  Target target = Target::own;
  /// Parameters without which it means nothing; `node` may be left out where a trigger names one.
  unsigned required = 0;
  unsigned optional = 0;     ///< parameters it may have besides
  bool negative_by = false;  ///< "by" may be negative
  AmountRange amount{};      ///< of words with kAmount
  Usual usual{};
  bool etcd = false;            ///< only etcd does that
  bool external_store = false;  ///< only a store outside the job does that
  bool real = false;            ///< can be done to real processes (scenarios/real)
  bool daily = false;           ///< what jobs meet every day: swarm draws it more often
  bool hunted = true;           ///< swarm draws it where it is not named, too
  DrawnAmount drawn{};
  TextIs text_is = TextIs::name;

  [[nodiscard]] constexpr bool takes(unsigned parameter) const {
    return ((required | optional) & parameter) != 0;
  }
  [[nodiscard]] constexpr bool needs(unsigned parameter) const {
    return (required & parameter) != 0;
  }
};

/// Every word, in the order of the documentation.
std::span<const Word> vocabulary();
/// Those that need no etcd; they come first.
std::span<const Word> words_of_every_store();
/// Null for an unknown word.
const Word* find_word(std::string_view name);
/// The entry with what its word usually means where it leaves something out. The word is known.
TimelineEntry with_usual(const Word& word, TimelineEntry entry);

/// "SIGTERM" or "TERM"; nullopt for a name the protocol does not use.
std::optional<sim::Signal> signal_named(std::string_view name);

/// Names that stand for nodes by what they are at the moment of acting.
std::span<const std::string_view> roles();

/// Every point in the model's code where a trigger may act ("agent.joined").
std::span<const std::string_view> fault_points();
/// Those of them that torchrun's code has, too: where PyTorch's agents can be struck
/// (scenarios/guest/python/torch_points.py).
std::span<const std::string_view> fault_points_of_torchrun();

/// Where in an agent's life that point is, in a sentence; empty for a name that is no point.
std::string_view meaning_of_fault_point(std::string_view name);

/// Events that have been renamed keep their former names (mark, fault.felt) in scenarios and traces
/// until version 0.2. What is no former name is returned as it is.
std::string_view present_event_name(std::string_view name);

}  // namespace hooke::scenario
